import type { Clock } from '../core/clock.js';
import { SECOND_MS } from '../core/units.js';
import { within } from '../core/within.js';
import type { Claims } from './claims.js';
import type { Destination, DestinationStats } from './destination.js';
import type { Wakeup } from './wakeup.js';

/**
 * A lost ring of the bell costs at most this. Idle, a look is one small directory listing per run.
 */
const RESCAN_MS = 2 * SECOND_MS;

/**
 * After a look at the spool the next one waits this many times as long as it took, so that huge
 * folders leave most of the time for delivery, however often their bells ring.
 */
const LOOK_REST_FACTOR = 4;

/** A stop waits this long for answers that are on their way, so that they are remembered. */
const STOP_GRACE_MS = 700;

export interface UploaderParts {
  readonly clock: Clock;
  readonly claims: Claims;
  readonly wakeup: Wakeup;
  readonly destinations: () => readonly Destination[];
  readonly cycleDeadlineMs: number;
}

/** When an uploader is done. */
export type Ending =
  /** When the one run that it delivers has ended, and nothing more can be done for it. */
  | { readonly kind: 'run-over' }
  /** When nothing is left that it could deliver, or it is no use to wait. */
  | { readonly kind: 'empty'; readonly stalledAfterMs: number; readonly timeoutMs: number };

export type UploadEnd =
  /** Nothing is left to do. */
  | 'done'
  /** Nothing was confirmed for too long. */
  | 'stalled'
  | 'timed-out'
  /** Every destination that something is left for refuses it in a way that waiting cannot mend. */
  | 'refused'
  /** It was told to stop. */
  | 'stopped';

/**
 * Delivers in cycles. Each begins with a look at the spool and lasts until nothing is left or its
 * deadline has passed; then what was confirmed is removed, others get a turn, and the next begins.
 * Requests under way carry over, so one that hangs holds up nothing but itself.
 */
export class Uploader {
  readonly #parts: UploaderParts;
  readonly #underWay = new Set<Promise<void>>();
  #defect: Error | undefined;
  #isStopping = false;
  #startedMs: number;
  #lastProgressMs: number;
  #progress = 0;
  #removedRuns = 0;
  #turn = 0;
  #mayLookMs = Number.NEGATIVE_INFINITY;
  #rescanMs = Number.NEGATIVE_INFINITY;

  constructor(parts: UploaderParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.monotonicMs();
    this.#lastProgressMs = this.#startedMs;
  }

  /** Ends `run` soon: nothing new is started, and what was confirmed is recorded. */
  stop(): void {
    this.#isStopping = true;
    this.#parts.wakeup.notify();
  }

  /**
   * Delivers until the ending. Afterwards the marks are written and the locks free.
   *
   * @throws what only a defect can throw; nothing unconfirmed was removed
   */
  async run(ending: Ending): Promise<UploadEnd> {
    try {
      for (;;) {
        const end = await this.#cycle(ending);
        if (end !== undefined) return end;
      }
    } finally {
      await this.#close();
    }
  }

  async #cycle(ending: Ending): Promise<UploadEnd | undefined> {
    const { clock, cycleDeadlineMs } = this.#parts;
    const endsMs = clock.monotonicMs() + cycleDeadlineMs;
    await this.#look();
    await this.#work(endsMs);
    if (this.#defect !== undefined) throw this.#defect;
    await this.#tidy();
    const end = this.#isStopping ? 'stopped' : this.#endOf(ending);
    if (end !== undefined) return end;
    if (this.#underWay.size === 0) await this.#rest(ending);
    else await new Promise((resolve) => setImmediate(resolve));
    return undefined;
  }

  /** At the runs that have rung, and at all of them now and then. */
  async #look(): Promise<void> {
    const { clock, claims, wakeup } = this.#parts;
    const startedMs = clock.monotonicMs();
    if (startedMs < this.#mayLookMs) return;
    const rung = wakeup.takeNews();
    const isRescan = claims.isOutdated || startedMs >= this.#rescanMs;
    if (isRescan) await claims.rescan();
    else await claims.look(rung);
    const endedMs = clock.monotonicMs();
    this.#mayLookMs = endedMs + LOOK_REST_FACTOR * (endedMs - startedMs);
    if (isRescan) this.#rescanMs = Math.max(endedMs + RESCAN_MS, this.#mayLookMs);
  }

  /**
   * Starts what can be started until nothing is left, the deadline has passed, or there is news.
   */
  async #work(endsMs: number): Promise<void> {
    const { clock, wakeup } = this.#parts;
    for (;;) {
      if (this.#isStopping || this.#defect !== undefined) return;
      this.#startAll();
      const nowMs = clock.monotonicMs();
      if (this.#underWay.size === 0 || nowMs >= endsMs) return;
      if (wakeup.hasNews && nowMs >= this.#mayLookMs) return;
      await wakeup.wait((wakeup.hasNews ? Math.min(endsMs, this.#mayLookMs) : endsMs) - nowMs);
    }
  }

  async #rest(ending: Ending): Promise<void> {
    const { clock, claims, wakeup } = this.#parts;
    const toLookMs = Math.max(1, this.#mayLookMs - clock.monotonicMs());
    const isDue = wakeup.hasNews || claims.isOutdated;
    await wakeup.wait(isDue ? toLookMs : this.#restMs(ending));
  }

  /** One request or batch for each run, round after round, until every destination is busy. */
  #startAll(): void {
    const { deliveries } = this.#parts.claims;
    let hasStarted = true;
    while (hasStarted) {
      hasStarted = false;
      for (let index = 0; index < deliveries.length; index += 1) {
        const delivery = deliveries[(index + this.#turn) % deliveries.length];
        for (const way of delivery?.ways ?? []) {
          const step = way.destination.isReady ? way.step() : undefined;
          if (step === undefined) continue;
          this.#track(step);
          hasStarted = true;
        }
      }
    }
    // Who came last now comes first the next time.
    this.#turn += 1;
  }

  #track(step: Promise<void>): void {
    const tracked = step
      .catch((error: unknown) => {
        this.#defect ??= error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => {
        this.#underWay.delete(tracked);
        this.#parts.wakeup.notify();
      });
    this.#underWay.add(tracked);
  }

  async #tidy(): Promise<void> {
    const { clock, claims } = this.#parts;
    this.#removedRuns += await claims.tidy();
    const progress = this.#removedRuns + this.#settledEntries();
    if (progress !== this.#progress) this.#lastProgressMs = clock.monotonicMs();
    this.#progress = progress;
  }

  #settledEntries(): number {
    return this.#parts.destinations().reduce((sum, { stats }) => sum + stats.entries, 0);
  }

  #endOf(ending: Ending): UploadEnd | undefined {
    const nowMs = this.#parts.clock.monotonicMs();
    const settled = this.#settledEnd(ending);
    if (settled !== undefined || ending.kind === 'run-over') return settled;
    if (nowMs - this.#startedMs >= ending.timeoutMs) return 'timed-out';
    return nowMs - this.#lastProgressMs >= ending.stalledAfterMs ? 'stalled' : undefined;
  }

  /** The end that waiting could not change. */
  #settledEnd(ending: Ending): UploadEnd | undefined {
    const { deliveries, skipped, isOutdated } = this.#parts.claims;
    if (this.#underWay.size > 0 || isOutdated) return undefined;
    // A run that goes on will have more, and one that another process holds may come back.
    const hasMore = skipped.size > 0 || deliveries.some(({ record }) => record.end === null);
    if (ending.kind === 'run-over' && hasMore) return undefined;
    const pending = deliveries.filter(({ isIdle }) => !isIdle);
    if (pending.length === 0) return 'done';
    return pending.every(({ isRefused }) => isRefused) ? 'refused' : undefined;
  }

  /**
   * Until something can be done by itself: a destination's back-off, an ending's limit, or a
   * rescan.
   */
  #restMs(ending: Ending): number {
    const { clock, claims } = this.#parts;
    const nowMs = clock.monotonicMs();
    // A back-off may have ended since the last attempt to start something: then it is 0.
    const waits = claims.deliveries
      .flatMap(({ ways }) => ways.filter(({ isIdle }) => !isIdle))
      .map(({ destination }) => destination.blockedForMs);
    if (ending.kind === 'empty') {
      waits.push(this.#startedMs + ending.timeoutMs - nowMs);
      waits.push(this.#lastProgressMs + ending.stalledAfterMs - nowMs);
    }
    return Math.max(1, Math.min(this.#rescanMs - nowMs, ...waits));
  }

  async #close(): Promise<void> {
    const { claims } = this.#parts;
    await within(Promise.all(this.#underWay), STOP_GRACE_MS);
    await Promise.allSettled(this.#parts.destinations().map((destination) => destination.close()));
    await Promise.all(this.#underWay);
    await claims.tidy();
    await claims.close();
  }
}

/** The sum over all destinations. */
export function totalStats(destinations: readonly Destination[]): DestinationStats {
  const total = { requests: 0, batches: 0, entries: 0, bytes: 0, retries: 0 };
  for (const { stats } of destinations) {
    total.requests += stats.requests;
    total.batches += stats.batches;
    total.entries += stats.entries;
    total.bytes += stats.bytes;
    total.retries += stats.retries;
  }
  return total;
}

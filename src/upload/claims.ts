import { ShipperError, reasonOf, systemCode } from '../core/errors.js';
import { listRuns } from '../spool/listing.js';
import { runDirectory, uploaderLockPath } from '../spool/layout.js';
import { acquireLock, type Lock } from '../spool/lock.js';
import { livenessOf } from '../spool/process-identity.js';
import { recoverRun } from '../spool/recovery.js';
import { removeRun } from '../spool/removal.js';
import { readRunRecord, type RunRecord } from '../spool/run-record.js';
import type { Destination } from './destination.js';
import { RunDelivery, type RunDeliveryParts } from './run-delivery.js';

/**
 * More runs at once would only hold memory and descriptors; the others follow as these are done.
 */
const MAX_HELD_RUNS = 256;

/** Why a run of the spool is not delivered by us. */
export type Skipped =
  /** Another process delivers it. */
  | { readonly kind: 'held'; readonly pid: number | null }
  | { readonly kind: 'no-destination'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

export interface ClaimsParts extends RunDeliveryParts {
  /** Undefined: all runs of the spool. */
  readonly onlyRun: string | undefined;
  readonly maxHeldRuns?: number;
  /** Where a run goes; empty when nobody said. @throws ShipperError `config` */
  readonly destinationsOf: (record: RunRecord) => readonly Destination[];
}

interface Held {
  readonly delivery: RunDelivery;
  readonly lock: Lock;
  isLost: boolean;
}

/**
 * The runs that this process delivers: it takes the uploader's lock of each, recovers those whose
 * wrapper was killed, and lets go of what is done.
 */
export class Claims {
  readonly #parts: ClaimsParts;
  readonly #maxHeldRuns: number;
  /** The longest held first. */
  readonly #held = new Map<string, Held>();
  readonly #skipped = new Map<string, Skipped>();
  /** Runs that were let go to make room, until all others have had their turn. */
  readonly #passed = new Set<string>();
  /** Troubles of runs, as last said. */
  readonly #told = new Map<string, string>();
  /** How many runs wait for room. */
  #waiting = 0;
  #hasLooked = false;

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
    this.#maxHeldRuns = parts.maxHeldRuns ?? MAX_HELD_RUNS;
  }

  get deliveries(): readonly RunDelivery[] {
    return [...this.#held.values()].filter(({ isLost }) => !isLost).map(({ delivery }) => delivery);
  }

  get skipped(): ReadonlyMap<string, Skipped> {
    return this.#skipped;
  }

  /** The next rescan changes what is held: there is room for runs that wait, or a lock was lost. */
  get isOutdated(): boolean {
    const hasRoom = this.#held.size < this.#maxHeldRuns;
    return (this.#waiting > 0 && hasRoom) || [...this.#held.values()].some(({ isLost }) => isLost);
  }

  /**
   * Looks at the whole spool: claims what is new, and looks again at what is held.
   *
   * @throws ShipperError `spool-unusable` when the spool cannot be read at the first look; later
   *   that is said once, and what is held goes on
   */
  async rescan(): Promise<void> {
    const ids = await this.#listRuns();
    if (ids === undefined) return;
    const present = new Set(ids);
    for (const known of [this.#skipped, this.#passed]) {
      for (const id of known.keys()) if (!present.has(id)) known.delete(id);
    }
    for (const [id, held] of this.#held) {
      if (held.isLost || !present.has(id)) await this.#letGo(id);
      else await this.#lookAgain(held.delivery, true);
    }
    await this.#claimSome(ids.filter((id) => !this.#held.has(id)));
  }

  /** Looks at these runs alone: they have rung. */
  async look(runIds: readonly string[]): Promise<void> {
    const { onlyRun } = this.#parts;
    for (const id of runIds) {
      const held = this.#held.get(id);
      if (held !== undefined && !held.isLost) {
        await this.#lookAgain(held.delivery, false);
      } else if (
        held === undefined &&
        (onlyRun ?? id) === id &&
        !this.#skipped.has(id) &&
        this.#held.size < this.#maxHeldRuns
      ) {
        await this.#claim(id);
      }
    }
  }

  /**
   * Records and removes what was confirmed, and lets go of what is finished. Returns how many runs
   * are done. A disk that refuses costs time only: it is said once, and tried again the next time.
   */
  async tidy(): Promise<number> {
    let done = 0;
    for (const [id, held] of this.#held) {
      if (!held.isLost && (await this.#tidyOne(held.delivery))) {
        await this.#letGo(id);
        done += 1;
      }
    }
    await this.#makeRoom();
    return done;
  }

  async close(): Promise<void> {
    for (const id of [...this.#held.keys()]) await this.#letGo(id);
  }

  /** Undefined when the spool cannot be read now. */
  async #listRuns(): Promise<string[] | undefined> {
    const { fs, layout, onlyRun } = this.#parts;
    try {
      const ids = await listRuns(fs, layout);
      this.#hasLooked = true;
      return ids.filter((id) => (onlyRun ?? id) === id);
    } catch (error) {
      const reason = `cannot read the spool ${layout.root}: ${reasonOf(error)}`;
      const hint = 'check its permissions, or choose another with --spool';
      if (!this.#hasLooked) {
        throw new ShipperError('spool-unusable', reason, { hint, cause: error });
      }
      this.#tell('', reason);
      return undefined;
    }
  }

  /** As many as there is room for; those that have been let go come after all others. */
  async #claimSome(ids: readonly string[]): Promise<void> {
    let candidates = ids.filter((id) => !this.#passed.has(id));
    if (candidates.length === 0) {
      this.#passed.clear();
      candidates = [...ids];
    }
    this.#waiting = candidates.length;
    for (const id of candidates) {
      if (this.#held.size >= this.#maxHeldRuns) return;
      this.#waiting -= 1;
      await this.#claim(id);
    }
  }

  /** For runs that wait, where what is held has nothing to do. */
  async #makeRoom(): Promise<void> {
    let needed = this.#waiting;
    for (const [id, { delivery }] of this.#held) {
      if (needed === 0) return;
      if (!delivery.isIdle) continue;
      needed -= 1;
      this.#passed.add(id);
      await this.#letGo(id);
    }
  }

  /** True when nothing of the run is left. */
  async #tidyOne(delivery: RunDelivery): Promise<boolean> {
    try {
      await delivery.tidy();
      if (delivery.isFinished) await delivery.remove();
      return delivery.isFinished;
    } catch (error) {
      this.#tell(delivery.id, `cannot remove what is delivered: ${reasonOf(error)}`);
      return false;
    }
  }

  /** Says a trouble that passes by itself once, not at each look. */
  #tell(id: string, trouble: string): void {
    if (this.#told.get(id) === trouble) return;
    this.#told.set(id, trouble);
    this.#parts.log.warn(id === '' ? {} : { run: id }, trouble);
  }

  async #letGo(id: string): Promise<void> {
    const held = this.#held.get(id);
    this.#held.delete(id);
    this.#told.delete(id);
    try {
      await held?.lock.release();
    } catch (error) {
      // It ends with this process at the latest.
      this.#parts.log.debug({ run: id }, `cannot free the lock: ${reasonOf(error)}`);
    }
  }

  /** A wrapper may have been killed while we delivered what it had sealed. */
  async #lookAgain(delivery: RunDelivery, mayBeDead: boolean): Promise<void> {
    const { end, writer } = delivery.record;
    try {
      if (mayBeDead && end === null && (writer === null || livenessOf(writer) !== 'alive')) {
        const outcome = await recoverRun(this.#parts, delivery.id);
        if (outcome.kind === 'recovered') delivery.record = outcome.record;
      }
      await delivery.refresh();
    } catch (error) {
      this.#tell(delivery.id, `cannot look at a run: ${reasonOf(error)}`);
    }
  }

  async #claim(id: string): Promise<void> {
    try {
      const skipped = await this.#tryToClaim(id);
      if (skipped === undefined) this.#skipped.delete(id);
      else this.#skip(id, skipped);
    } catch (error) {
      // ENOENT: another uploader has finished and removed it while we looked.
      if (systemCode(error) !== 'ENOENT') {
        this.#skip(id, { kind: 'failed', reason: reasonOf(error) });
      }
    }
  }

  /** Says what a person should know once, not at each look. */
  #skip(id: string, skipped: Skipped): void {
    if (skipped.kind === 'failed' && this.#skipped.get(id)?.kind !== 'failed') {
      this.#parts.log.error({ run: id }, `cannot deliver a run: ${skipped.reason}`);
    }
    this.#skipped.set(id, skipped);
  }

  async #tryToClaim(id: string): Promise<Skipped | undefined> {
    const { fs, layout } = this.#parts;
    const directory = runDirectory(layout, id);
    const found = await readRunRecord(fs, directory, id);
    const destinations = this.#destinationsOf(found.record);
    if ('kind' in destinations) return destinations;
    const fate = { isLost: false };
    const attempt = await acquireLock(uploaderLockPath(directory), () => {
      fate.isLost = true;
      this.#lose(id);
    });
    if (attempt.kind === 'held') return { kind: 'held', pid: attempt.owner?.pid ?? null };
    try {
      await this.#open(id, attempt.lock, destinations);
      // It may have been lost while a long recovery was under way.
      if (fate.isLost) this.#lose(id);
      return undefined;
    } finally {
      if (!this.#held.has(id)) await attempt.lock.release();
    }
  }

  async #open(id: string, lock: Lock, destinations: readonly Destination[]): Promise<void> {
    const { fs, layout, log } = this.#parts;
    const directory = runDirectory(layout, id);
    const outcome = await recoverRun(this.#parts, id);
    const reading = await readRunRecord(fs, directory, id);
    const record = outcome.kind === 'recovered' ? outcome.record : reading.record;
    const delivery = await RunDelivery.open(this.#parts, record, destinations);
    if (reading.kind === 'unreadable') {
      if (delivery.isEmpty) {
        // Neither record nor segments: the rest of a removal.
        await removeRun(fs, layout, id);
        return;
      }
      log.warn({ run: id }, `${reading.reason}: delivering the run without its metadata`);
    }
    this.#held.set(id, { delivery, lock, isLost: false });
  }

  #destinationsOf(record: RunRecord): readonly Destination[] | Skipped {
    try {
      const destinations = this.#parts.destinationsOf(record);
      if (destinations.length > 0) return destinations;
      return { kind: 'no-destination', reason: 'nobody said where to deliver it' };
    } catch (error) {
      return { kind: 'no-destination', reason: reasonOf(error) };
    }
  }

  #lose(id: string): void {
    const held = this.#held.get(id);
    // The lock of a run that is done goes with its directory.
    if (held === undefined || held.delivery.isFinished) return;
    held.isLost = true;
    this.#parts.log.error({ run: id }, 'lost the lock of a run: another uploader has it');
  }
}

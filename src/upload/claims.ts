import { reasonOf, systemCode } from '../core/errors.js';
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
  readonly #held = new Map<string, Held>();
  readonly #skipped = new Map<string, Skipped>();
  /** Why what is delivered could not be removed, as last said. */
  readonly #untidy = new Map<string, string>();

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
  }

  get deliveries(): readonly RunDelivery[] {
    return [...this.#held.values()].filter(({ isLost }) => !isLost).map(({ delivery }) => delivery);
  }

  get skipped(): ReadonlyMap<string, Skipped> {
    return this.#skipped;
  }

  /** Looks at the spool: claims what is new, and looks again at what is held. */
  async refresh(): Promise<void> {
    const { fs, layout, onlyRun } = this.#parts;
    const ids = (await listRuns(fs, layout)).filter(
      (id) => onlyRun === undefined || id === onlyRun,
    );
    const present = new Set(ids);
    for (const id of this.#skipped.keys()) if (!present.has(id)) this.#skipped.delete(id);
    for (const [id, held] of this.#held) {
      if (held.isLost || !present.has(id)) await this.#letGo(id);
      else await this.#lookAgain(held.delivery);
    }
    for (const id of ids) {
      if (this.#held.size >= MAX_HELD_RUNS) break;
      if (!this.#held.has(id)) await this.#claim(id);
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
    // Room for runs that wait, where what is held has nothing to do.
    if (this.#held.size >= MAX_HELD_RUNS) {
      for (const [id, { delivery }] of this.#held) if (delivery.isIdle) await this.#letGo(id);
    }
    return done;
  }

  async close(): Promise<void> {
    for (const id of [...this.#held.keys()]) await this.#letGo(id);
  }

  /** True when nothing of the run is left. */
  async #tidyOne(delivery: RunDelivery): Promise<boolean> {
    try {
      await delivery.tidy();
      if (delivery.isFinished) await delivery.remove();
      return delivery.isFinished;
    } catch (error) {
      const reason = reasonOf(error);
      if (this.#untidy.get(delivery.id) !== reason) {
        this.#parts.log.warn({ run: delivery.id }, `cannot remove what is delivered: ${reason}`);
      }
      this.#untidy.set(delivery.id, reason);
      return false;
    }
  }

  async #letGo(id: string): Promise<void> {
    const held = this.#held.get(id);
    this.#held.delete(id);
    this.#untidy.delete(id);
    await held?.lock.release();
  }

  /** A wrapper may have been killed while we delivered what it had sealed. */
  async #lookAgain(delivery: RunDelivery): Promise<void> {
    const { end, writer } = delivery.record;
    if (end === null && (writer === null || livenessOf(writer) !== 'alive')) {
      const outcome = await recoverRun(this.#parts, delivery.id);
      if (outcome.kind === 'recovered') delivery.record = outcome.record;
    }
    await delivery.refresh();
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
    const attempt = await acquireLock(uploaderLockPath(directory), () => {
      this.#lose(id);
    });
    if (attempt.kind === 'held') return { kind: 'held', pid: attempt.owner?.pid ?? null };
    try {
      await this.#open(id, attempt.lock, destinations);
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
    if (held === undefined) return;
    held.isLost = true;
    this.#parts.log.error({ run: id }, 'lost the lock of a run: another uploader has it');
  }
}

import { reasonOf } from '../core/errors.js';
import { STREAMS, type StreamName } from '../core/stream.js';
import type { FileSystem } from '../disk/file-system.js';
import { runDirectory, type SpoolLayout } from '../spool/layout.js';
import { listRun, type RunListing } from '../spool/listing.js';
import { NEW_SINK_MARKS, readMarks, writeMarks, type SinkMarks } from '../spool/marks.js';
import { removeRun, removeSegments } from '../spool/removal.js';
import { readRunRecord, type RunRecord } from '../spool/run-record.js';
import { BatchReader } from './batch-reader.js';
import type { Destination } from './destination.js';
import { RunAtDestination, type RunAtDestinationParts } from './run-at-destination.js';

export interface RunDeliveryParts extends Omit<RunAtDestinationParts, 'readers' | 'destination'> {
  readonly fs: FileSystem;
  readonly layout: SpoolLayout;
}

/** One run on its way to one destination, with what it reads from. */
interface Way {
  readonly run: RunAtDestination;
  readonly readers: ReadonlyMap<StreamName, BatchReader>;
}

/**
 * A run that this process delivers, under the uploader's lock: it looks at the directory, and
 * removes what every destination has confirmed.
 *
 * If the process dies
 * - after an answer, before the marks are written: the destination tells its mark again;
 * - after the marks, before the removal: segments that a mark covers are removed, not sent;
 * - after the last removal, before `run.json` goes: the run is finished at every destination, and
 *   the next uploader removes it.
 */
export class RunDelivery {
  readonly id: string;
  readonly #parts: RunDeliveryParts;
  readonly #directory: string;
  readonly #ways: readonly Way[];
  #record: RunRecord;
  #listing: RunListing;
  /** As last written. */
  #marks: Readonly<Record<string, SinkMarks>>;

  private constructor(
    parts: RunDeliveryParts,
    found: { readonly record: RunRecord; readonly listing: RunListing },
    ways: readonly Way[],
    marks: Readonly<Record<string, SinkMarks>>,
  ) {
    this.id = found.record.id;
    this.#parts = parts;
    this.#directory = runDirectory(parts.layout, found.record.id);
    this.#ways = ways;
    this.#record = found.record;
    this.#listing = found.listing;
    this.#marks = marks;
  }

  /** Looks at a run that is locked by the caller. Nothing is sent yet. */
  static async open(
    parts: RunDeliveryParts,
    record: RunRecord,
    destinations: readonly Destination[],
  ): Promise<RunDelivery> {
    const directory = runDirectory(parts.layout, record.id);
    const { sinks } = await readMarks(parts.fs, directory);
    const listing = await listRun(parts.fs, directory);
    const ways = destinations.map((destination): Way => {
      const readers = new Map(
        STREAMS.map((stream) => [stream, new BatchReader(parts.fs, directory)] as const),
      );
      setSegments(readers, listing);
      const marks = sinks[destination.sink.id] ?? NEW_SINK_MARKS;
      const run = new RunAtDestination({ ...parts, destination, readers }, record, marks);
      return { run, readers };
    });
    return new RunDelivery(parts, { record, listing }, ways, sinks);
  }

  get ways(): readonly RunAtDestination[] {
    return this.#ways.map(({ run }) => run);
  }

  get isFinished(): boolean {
    return this.#ways.every(({ run }) => run.isFinished);
  }

  /** It holds no segments. */
  get isEmpty(): boolean {
    return this.#listing.sealed.size === 0 && this.#listing.open.size === 0;
  }

  /** Nothing can be done for it now: everything sealed is delivered, or it waits for a person. */
  get isIdle(): boolean {
    return this.#ways.every(({ run }) => run.isIdle);
  }

  /** Every destination that it waits for refuses it in a way that waiting cannot mend. */
  get isRefused(): boolean {
    return this.#ways.every(({ run }) => run.isIdle || run.destination.isStopped);
  }

  /** Looks at the directory and the record again, as after the bell. */
  async refresh(): Promise<void> {
    // The record first: once it tells the end, the listing that follows is the last word.
    if (this.#record.end === null) {
      const { kind, record } = await readRunRecord(this.#parts.fs, this.#directory, this.id);
      if (kind === 'record') this.#record = record;
    }
    this.#listing = await listRun(this.#parts.fs, this.#directory);
    this.#spread();
  }

  /** What recovery has found out about a run whose wrapper was killed meanwhile. */
  set record(record: RunRecord) {
    this.#record = record;
    this.#spread();
  }

  get record(): RunRecord {
    return this.#record;
  }

  /**
   * Writes the marks where they have changed, and removes what every destination has confirmed.
   *
   * @throws the system error of what could not be removed. Marks that cannot be written stop
   *   nothing: they are disposable, and on a full disk it is the removal that makes room for them.
   */
  async tidy(): Promise<void> {
    await this.#writeMarks();
    const covered = [...this.#listing.sealed.values()]
      .flat()
      .filter((segment) => segment.last <= this.#settled(segment.stream));
    if (covered.length === 0) return;
    await removeSegments(this.#parts.fs, this.#directory, covered);
    const gone = new Set(covered);
    const sealed = new Map(
      [...this.#listing.sealed].map(
        ([stream, segments]) => [stream, segments.filter((one) => !gone.has(one))] as const,
      ),
    );
    this.#listing = { ...this.#listing, sealed };
    for (const { readers } of this.#ways) setSegments(readers, this.#listing);
  }

  /** The run is finished everywhere: nothing of it is left afterwards. The lock goes with it. */
  async remove(): Promise<void> {
    await this.tidy();
    await removeRun(this.#parts.fs, this.#parts.layout, this.id);
  }

  #settled(stream: StreamName): number {
    return Math.min(...this.#ways.map(({ run }) => run.settled(stream)));
  }

  async #writeMarks(): Promise<void> {
    const changed = this.#ways.filter(
      ({ run }) => run.marks !== this.#marks[run.destination.sink.id],
    );
    if (changed.length === 0) return;
    const sinks = { ...this.#marks };
    for (const { run } of changed) sinks[run.destination.sink.id] = run.marks;
    try {
      await writeMarks(this.#parts.fs, this.#directory, { sinks });
    } catch (error) {
      this.#parts.log.debug({ run: this.id }, `cannot write the marks: ${reasonOf(error)}`);
      return;
    }
    this.#marks = sinks;
  }

  #spread(): void {
    for (const { run, readers } of this.#ways) {
      setSegments(readers, this.#listing);
      run.refreshed(this.#record);
    }
  }
}

function setSegments(readers: Way['readers'], { sealed }: RunListing): void {
  for (const [stream, reader] of readers) reader.setSegments(sealed.get(stream) ?? []);
}

import { dirname } from 'node:path';
import type { Clock } from '../core/clock.js';
import type { RunTotals } from '../core/run.js';
import { STREAMS, type StreamName } from '../core/stream.js';
import { makeDirectories } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import type { Logger } from '../telemetry/log.js';
import { AppendQueue, type AppendOutcome, type AppendRange } from './append-queue.js';
import { indexPath, logPath, recordPath } from './layout.js';
import { cutTo, type StreamFiles, type StreamState } from './recovery.js';
import { readArchiveRecord, writeArchiveRecord, type ArchiveRecord } from './run-record.js';
import { StreamArchive } from './stream-archive.js';

/** What is known of a run: the answer to PUT and GET. */
export interface RunState {
  readonly id: string;
  readonly epoch: number;
  readonly finished: boolean;
  readonly marks: Readonly<Partial<Record<StreamName, number>>>;
}

export type FinishOutcome =
  | { readonly kind: 'finished' }
  /** Entries of these streams are missing. */
  | { readonly kind: 'gap'; readonly streams: readonly StreamName[] }
  /** Totals or digests differ from what is stored, or from an earlier finish. */
  | { readonly kind: 'conflict'; readonly reason: string };

export interface RunArchiveParts {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Logger;
}

interface OpenStream {
  readonly archive: StreamArchive;
  readonly queue: AppendQueue;
}

/**
 * One run of the archive: its record, the epoch that fences older uploaders, and its streams.
 *
 * - An epoch is persisted before it is acted on, and a finish only after every digest was compared:
 *   who reads `run.json` may rely on what it says.
 * - A killed process may have made the directory or replaced `run.json` and not synced that:
 *   opening syncs both directories, before anybody is told what is in them.
 * - One process per run directory.
 */
export class RunArchive {
  readonly #parts: RunArchiveParts;
  readonly #directory: string;
  readonly #id: string;
  readonly #streams = new Map<StreamName, Promise<OpenStream>>();
  /** Where streams stood whose files have failed. */
  readonly #known = new Map<StreamName, StreamState>();
  readonly #appending = new Set<Promise<unknown>>();
  /** The finish under way, and those before it. */
  #finishing: Promise<unknown> = Promise.resolve();
  #record: ArchiveRecord;
  /** Changes of the record, one after the other. */
  #recording: Promise<unknown> = Promise.resolve();

  private constructor(
    parts: RunArchiveParts,
    place: { directory: string; id: string },
    record: ArchiveRecord,
  ) {
    this.#parts = parts;
    this.#directory = place.directory;
    this.#id = place.id;
    this.#record = record;
  }

  /** Undefined when there is no such run. */
  static async open(
    parts: RunArchiveParts,
    place: { directory: string; id: string },
  ): Promise<RunArchive | undefined> {
    if ((await parts.fs.stat(place.directory))?.kind !== 'directory') return undefined;
    await parts.fs.syncDirectory(place.directory);
    await parts.fs.syncDirectory(dirname(place.directory));
    const record = await readArchiveRecord(parts.fs, place.directory);
    const file = recordPath(place.directory);
    if (record === undefined && (await parts.fs.stat(file)) !== undefined) {
      parts.log.error({ file }, 'the record of a run is damaged: its epoch and end are forgotten');
    }
    const empty: ArchiveRecord = { metadata: {}, epoch: 0, totals: null, finishedAt: null };
    return new RunArchive(parts, place, record ?? empty);
  }

  /** Creates the run's directory, durably. */
  static async create(
    parts: RunArchiveParts,
    place: { directory: string; id: string },
  ): Promise<RunArchive> {
    await makeDirectories(parts.fs, place.directory);
    const created = await RunArchive.open(parts, place);
    if (created === undefined) throw new Error(`cannot create ${place.directory}`);
    return created;
  }

  get isFinished(): boolean {
    return this.#record.finishedAt !== null;
  }

  get epoch(): number {
    return this.#record.epoch;
  }

  /** Keeps the metadata of the first PUT; fills it in where it was lost. */
  async describe(metadata: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#change((record) =>
      record.metadata['id'] === undefined ? { ...record, metadata } : record,
    );
  }

  /**
   * Remembers an uploader's epoch. False when a newer one is known: that uploader is fenced off.
   */
  async admit(epoch: number): Promise<boolean> {
    if (epoch > this.#record.epoch) await this.#change((record) => ({ ...record, epoch }));
    return epoch >= this.#record.epoch;
  }

  async state(): Promise<RunState> {
    const marks: Partial<Record<StreamName, number>> = {};
    for (const stream of STREAMS) {
      const opened = await this.#existing(stream);
      if (opened !== undefined) marks[stream] = opened.archive.mark;
    }
    const { epoch, finishedAt } = this.#record;
    return { id: this.#id, epoch, finished: finishedAt !== null, marks };
  }

  /** The mark of a stream; 0 for one that has none yet. */
  async mark(stream: StreamName): Promise<number> {
    return (await this.#existing(stream))?.archive.mark ?? 0;
  }

  /** After `failed` the stream is closed; the next use opens it again, at its mark. */
  async append(stream: StreamName, range: AppendRange): Promise<AppendOutcome> {
    await this.#finishing;
    const appending = this.#appendNow(stream, range);
    this.#appending.add(appending);
    try {
      return await appending;
    } finally {
      this.#appending.delete(appending);
    }
  }

  /**
   * Compares the totals with what is stored, and records them. The same totals again: finished.
   * Appends that are under way come first, later ones wait.
   */
  finish(totals: RunTotals): Promise<FinishOutcome> {
    const finishing = this.#finishing.then(() => this.#finishNow(totals));
    this.#finishing = finishing.catch(() => undefined);
    return finishing;
  }

  /** Closes every file. Nobody uses the run any more. */
  async close(): Promise<void> {
    const streams = await Promise.allSettled(this.#streams.values());
    this.#streams.clear();
    for (const opening of streams) {
      if (opening.status === 'fulfilled') await opening.value.archive.close();
    }
  }

  async #appendNow(stream: StreamName, range: AppendRange): Promise<AppendOutcome> {
    const opening = this.#opened(stream);
    const { archive, queue } = await opening;
    if (this.isFinished) return { kind: 'complete', mark: archive.mark };
    const outcome = await queue.append(range);
    // Of several that have failed together, the first closes the stream.
    if (outcome.kind === 'failed' && this.#streams.get(stream) === opening) {
      this.#streams.delete(stream);
      await this.#giveUp(stream, archive);
    }
    return outcome;
  }

  /** Cuts off what failed, now if the disk can, or else at the next opening. */
  async #giveUp(stream: StreamName, archive: StreamArchive): Promise<void> {
    this.#known.set(stream, archive.state);
    await archive.close().catch(() => undefined);
    const files = filesOf(this.#directory, stream);
    await cutTo(this.#parts.fs, files, archive.state).catch(() => undefined);
  }

  async #finishNow(totals: RunTotals): Promise<FinishOutcome> {
    await Promise.allSettled(this.#appending);
    const earlier = this.#record.totals;
    if (earlier !== null) {
      return same(earlier, totals)
        ? { kind: 'finished' }
        : { kind: 'conflict', reason: 'the run is finished with other totals' };
    }
    const difference = await this.#compare(totals);
    if (difference !== undefined) return difference;
    const finishedAt = new Date(this.#parts.clock.wallMs()).toISOString();
    await this.#change((record) => ({ ...record, totals, finishedAt }));
    return { kind: 'finished' };
  }

  async #compare(totals: RunTotals): Promise<FinishOutcome | undefined> {
    const behind: StreamName[] = [];
    for (const stream of STREAMS) {
      const archive = (await this.#existing(stream))?.archive;
      const expected = totals.streams[stream] ?? { last: 0, bytes: 0, sha256: null };
      const mark = archive?.mark ?? 0;
      if (mark < expected.last) behind.push(stream);
      if (mark > expected.last) return conflict(`${stream} has ${String(mark)} entries here`);
      if (archive === undefined || mark < expected.last) continue;
      if (expected.bytes !== null && expected.bytes !== archive.bytes) {
        return conflict(`${stream} has ${String(archive.bytes)} bytes here`);
      }
      if (expected.sha256 !== null && expected.sha256 !== (await archive.sha256())) {
        return conflict(`${stream} has another digest here`);
      }
    }
    return behind.length === 0 ? undefined : { kind: 'gap', streams: behind };
  }

  async #existing(stream: StreamName): Promise<OpenStream | undefined> {
    const isThere =
      this.#streams.has(stream) ||
      (await this.#parts.fs.stat(logPath(this.#directory, stream))) !== undefined;
    return isThere ? this.#opened(stream) : undefined;
  }

  #opened(stream: StreamName): Promise<OpenStream> {
    let opening = this.#streams.get(stream);
    if (opening === undefined) {
      opening = this.#open(stream);
      // A failed opening is tried again by the next request.
      opening.catch(() => this.#streams.delete(stream));
      this.#streams.set(stream, opening);
    }
    return opening;
  }

  async #open(stream: StreamName): Promise<OpenStream> {
    const known = this.#known.get(stream);
    const files = filesOf(this.#directory, stream);
    const archive = await StreamArchive.open(this.#parts, files, known);
    this.#known.delete(stream);
    return { archive, queue: new AppendQueue(archive, () => this.epoch) };
  }

  #change(update: (record: ArchiveRecord) => ArchiveRecord): Promise<void> {
    const changed = this.#recording.then(async () => {
      const next = update(this.#record);
      if (next === this.#record) return;
      await writeArchiveRecord(this.#parts.fs, this.#directory, next);
      this.#record = next;
    });
    this.#recording = changed.catch(() => undefined);
    return changed;
  }
}

function filesOf(directory: string, stream: StreamName): StreamFiles {
  return { directory, log: logPath(directory, stream), index: indexPath(directory, stream) };
}

function conflict(reason: string): FinishOutcome {
  return { kind: 'conflict', reason };
}

function same(a: RunTotals, b: RunTotals): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

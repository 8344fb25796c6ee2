import type { Clock } from '../core/clock.js';
import type { ExitStatus, RunTotals, StreamTotals } from '../core/run.js';
import type { StreamName } from '../core/stream.js';
import type { FileSystem } from '../disk/file-system.js';
import { ringBell } from './bell.js';
import { runDirectory, type SpoolLayout } from './layout.js';
import { writeRunRecord, type RunRecord } from './run-record.js';
import { StreamWriter, type WriterSettings, type WriterTrouble } from './stream-writer.js';

export interface RunWriterParts {
  readonly fs: FileSystem;
  readonly layout: SpoolLayout;
  readonly clock: Clock;
  readonly settings: WriterSettings;
  readonly onTrouble: (trouble: WriterTrouble) => void;
}

/**
 * The capture side of one run in the spool: its stream writers, and the final record.
 *
 * The record is written last, after every segment is sealed: who reads it may rely on its totals.
 * If the process dies before, the run has no end, and recovery gives it the end "unknown".
 */
export class RunWriter {
  readonly #parts: RunWriterParts;
  readonly #record: RunRecord;
  readonly #streams = new Map<StreamName, StreamWriter>();
  #order = 0;

  /** For a run that `createRun` has made. */
  constructor(parts: RunWriterParts, record: RunRecord) {
    this.#parts = parts;
    this.#record = record;
  }

  /**
   * The writer of a stream; always the same one. Nothing is created on disk before its first entry.
   */
  stream(name: StreamName): StreamWriter {
    let writer = this.#streams.get(name);
    if (writer === undefined) {
      writer = this.#newStream(name);
      this.#streams.set(name, writer);
    }
    return writer;
  }

  /**
   * Seals everything and writes the final record, durably.
   *
   * @throws the system error when the record cannot be written; every entry is on disk all the
   *   same, and `drain` delivers them with the end "unknown".
   */
  async finish(exit: ExitStatus): Promise<RunTotals> {
    await Promise.all([...this.#streams.values()].map((writer) => writer.close()));
    const streams: Partial<Record<StreamName, StreamTotals>> = {};
    let gaps = 0;
    for (const [name, writer] of this.#streams) {
      streams[name] = writer.totals();
      gaps += writer.gaps;
    }
    const endedAt = new Date(this.#parts.clock.wallMs()).toISOString();
    const end = { streams, exit, gaps, endedAt };
    const directory = runDirectory(this.#parts.layout, this.#record.id);
    await writeRunRecord(this.#parts.fs, directory, { ...this.#record, end });
    await this.#ring();
    return end;
  }

  #newStream(name: StreamName): StreamWriter {
    const { fs, layout, clock, settings, onTrouble } = this.#parts;
    return new StreamWriter(name, {
      fs,
      directory: runDirectory(layout, this.#record.id),
      clock,
      settings,
      nextOrder: () => this.#order++,
      onSealed: () => void this.#ring(),
      onTrouble,
    });
  }

  /** A ring that fails costs time only: uploaders rescan. */
  async #ring(): Promise<void> {
    try {
      await ringBell(this.#parts.fs, this.#parts.layout, this.#record.id);
    } catch {
      // The disk may be full, or the run may be delivered and gone already.
    }
  }
}

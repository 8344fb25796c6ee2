import { vi } from 'vitest';
import type { StreamName } from '../../src/core/stream.js';
import { countEntries, entryOffset } from '../../src/frames/entries.js';
import { createRun } from '../../src/spool/create-run.js';
import { RunWriter } from '../../src/spool/run-writer.js';
import type { FsyncMode } from '../../src/spool/seal.js';
import { SimulatedDisk } from './simulated-disk.js';
import { DIRECTORY, LAYOUT, ManualClock, RECORD, segmentsOf } from './simulated-run.js';

/** What a child prints, read by read, and when time passes. */
export type Script = readonly (readonly [stream: StreamName, text: string] | 'time passes')[];

const FLUSH_INTERVAL_MS = 100;

/** What was captured of one run, and what the disk owes for it. */
export class RunHistory {
  readonly #fsync: FsyncMode;
  /** All that was handed to the writer, the read in which the process died included. */
  readonly #printed = new Map<StreamName, Buffer[]>();
  /** The part of it whose append had come to its end. */
  readonly #written = new Map<StreamName, number>();

  constructor(fsync: FsyncMode) {
    this.#fsync = fsync;
  }

  /** A disk with the run as its wrapper has created it. */
  static async newDisk(): Promise<SimulatedDisk> {
    const disk = new SimulatedDisk();
    await createRun(disk, LAYOUT, RECORD);
    return disk.afterKill();
  }

  /**
   * Captures the whole script, or as much of it as the disk lets it; with timers that are faked.
   */
  async capture(
    disk: SimulatedDisk,
    script: Script,
    beforeEnd: () => void = () => undefined,
  ): Promise<void> {
    const clock = new ManualClock();
    const settings = {
      segmentMaxBytes: 4096,
      segmentMaxEntries: 4,
      flushIntervalMs: FLUSH_INTERVAL_MS,
      fsync: this.#fsync,
    };
    const parts = { fs: disk, layout: LAYOUT, clock, settings, onTrouble: () => undefined };
    const writer = new RunWriter(parts, RECORD);
    for (const step of script) {
      if (disk.stoppedIn !== undefined) return;
      if (step === 'time passes') {
        clock.nowMs += FLUSH_INTERVAL_MS;
        await vi.advanceTimersByTimeAsync(FLUSH_INTERVAL_MS);
      } else {
        this.#append(disk, writer, ...step);
      }
    }
    beforeEnd();
    await writer.finish({ code: 0 });
  }

  #append(disk: SimulatedDisk, writer: RunWriter, stream: StreamName, text: string): void {
    const body = Buffer.from(text);
    writer.stream(stream).append([body], countEntries(body));
    const printed = this.#printed.get(stream) ?? [];
    this.#printed.set(stream, [...printed, ...entriesOf(body)]);
    if (disk.stoppedIn === undefined) this.#written.set(stream, this.#printed.get(stream)!.length);
  }

  /** Whether these bytes are what was printed as the `n` entries from a sequence on. */
  holds(stream: StreamName, seq: number, n: number, bytes: Buffer): boolean {
    const entries = this.#printed.get(stream)?.slice(seq - 1, seq - 1 + n) ?? [];
    return entries.length === n && Buffer.concat(entries).equals(bytes);
  }

  /**
   * What is wrong with the entries of a stream on disk, in words: each must be there, in order, or
   * be counted by a gap entry in its place.
   */
  accountingOf(disk: SimulatedDisk, stream: StreamName): string[] {
    const printed = this.#printed.get(stream) ?? [];
    let counted = 0;
    for (const { frames, bytes } of segmentsOf(disk, stream)) {
      for (const { seq, n, gap, bodyStart, end } of frames) {
        const entries = printed.slice(counted, counted + (gap?.entries ?? n));
        const body = Buffer.concat(entries);
        const isRight =
          gap === undefined
            ? body.equals(bytes.subarray(bodyStart, end))
            : gap.bytes === body.length && gap.entries === entries.length;
        if (!isRight) return [`${stream} ${String(seq)} is not what comes next`];
        counted += entries.length;
      }
    }
    return counted === printed.length
      ? []
      : [`${stream} accounts for ${String(counted)} of ${String(printed.length)}`];
  }

  /** The highest sequence that survives a kill. */
  writtenLast(stream: StreamName): number {
    return this.#written.get(stream) ?? 0;
  }

  /** The highest sequence that survives a power cut, by what the trace says was synced. */
  durableLast(disk: SimulatedDisk, stream: StreamName): number {
    switch (this.#fsync) {
      case 'never':
        return 0;
      case 'always':
        return this.writtenLast(stream);
      case 'segment':
        return lastSealedAndSynced(disk, stream);
    }
  }
}

function entriesOf(body: Buffer): Buffer[] {
  return Array.from({ length: countEntries(body) }, (_, index) =>
    body.subarray(entryOffset(body, index), entryOffset(body, index + 1)),
  );
}

function lastSealedAndSynced(disk: SimulatedDisk, stream: StreamName): number {
  const syncs = disk.trace.filter(
    ({ kind, path }) => kind === 'syncDirectory' && path === DIRECTORY,
  );
  const lastSync = syncs.at(-1)?.number ?? 0;
  const synced = new Set(
    disk.trace
      .filter(({ kind, number }) => kind === 'rename' && number < lastSync)
      .map(({ path }) => path),
  );
  const lasts = segmentsOf(disk, stream)
    .filter(({ state }) => state === 'sealed')
    .filter(({ first }) => [...synced].some((path) => path.endsWith(`${stream}-${name(first)}`)))
    .map(({ last }) => last);
  return Math.max(0, ...lasts);
}

function name(first: number): string {
  return `${String(first).padStart(12, '0')}.open`;
}

import { expect } from 'vitest';
import { countEntries } from '../../src/frames/entries.js';
import {
  StreamWriter,
  type WriterSettings,
  type WriterTrouble,
} from '../../src/spool/stream-writer.js';
import type { SimulatedDisk } from './simulated-disk.js';
import {
  DIRECTORY,
  diskWithRun,
  ManualClock,
  segmentsOf,
  type FoundSegment,
} from './simulated-run.js';

const SETTINGS: WriterSettings = {
  segmentMaxBytes: 8 * 1024 * 1024,
  segmentMaxEntries: 65_536,
  flushIntervalMs: 100,
  fsync: 'segment',
};

/** A stream writer on a simulated disk, and what came of it. */
export class WriterBench {
  readonly disk: SimulatedDisk;
  readonly clock: ManualClock = new ManualClock();
  readonly troubles: WriterTrouble[] = [];
  sealed = 0;
  #order = 0;

  constructor(disk: SimulatedDisk) {
    this.disk = disk;
  }

  newWriter(settings: Partial<WriterSettings> = {}): StreamWriter {
    return new StreamWriter('stdout', {
      fs: this.disk,
      directory: DIRECTORY,
      clock: this.clock,
      settings: { ...SETTINGS, ...settings },
      nextOrder: () => this.#order++,
      onSealed: () => {
        this.sealed += 1;
      },
      onTrouble: (trouble) => this.troubles.push(trouble),
    });
  }

  segments(): FoundSegment[] {
    return segmentsOf(this.disk, 'stdout');
  }

  /**
   * As `segments`, after a look at S1 and S2: contiguous, intact, and named after their content.
   */
  checkedSegments(): FoundSegment[] {
    let next = 1;
    for (const { first, last, frames, end } of this.segments()) {
      expect(first).toBe(next);
      expect(end.kind).toBe('complete');
      for (const frame of frames) {
        expect(frame.seq).toBe(next);
        next += frame.n;
      }
      expect(last).toBe(next - 1);
    }
    return this.segments();
  }

  /** The gap entries on disk, as `entries bytes why`. */
  gaps(): string[] {
    return this.segments()
      .flatMap(({ frames }) => frames)
      .flatMap(({ gap }) => (gap === undefined ? [] : [gap]))
      .map(({ entries, bytes, why }) => `${String(entries)} ${String(bytes)} ${why}`);
  }
}

export async function newBench(): Promise<WriterBench> {
  return new WriterBench(await diskWithRun());
}

/** Appends what was read at once. */
export function append(writer: StreamWriter, text: string | Buffer): void {
  const bytes = Buffer.from(text);
  writer.append([bytes], countEntries(bytes));
}

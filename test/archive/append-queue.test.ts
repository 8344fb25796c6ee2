import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppendQueue, MAX_HELD_RANGES, type AppendRange } from '../../src/archive/append-queue.js';
import type { FrameRun, StreamArchive } from '../../src/archive/stream-archive.js';
import { scanFrames } from '../../src/frames/scan.js';
import { frameOf } from '../support/frames.js';

/** An archive in memory, whose appends end when the test says so. */
class MemoryArchive {
  mark = 0;
  readonly groups: number[] = [];
  release: () => void = () => undefined;

  async append(runs: readonly FrameRun[]): Promise<void> {
    this.groups.push(runs.length);
    await new Promise<void>((resolve) => {
      this.release = resolve;
    });
    this.mark = runs.at(-1)?.frames.at(-1)?.seq ?? this.mark;
  }
}

function range(seq: number, epoch = 1): AppendRange {
  const bytes = frameOf(seq, `line ${String(seq)}\n`);
  return { first: seq, last: seq, epoch, bytes, frames: scanFrames(bytes).frames };
}

function setUp(): { archive: MemoryArchive; queue: AppendQueue } {
  const archive = new MemoryArchive();
  return { archive, queue: new AppendQueue(archive as unknown as StreamArchive, () => 1) };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('AppendQueue', () => {
  it('takes ranges together that have gathered while another was written', async () => {
    const { archive, queue } = setUp();
    const answers = [queue.append(range(1)), queue.append(range(3)), queue.append(range(2))];
    await vi.advanceTimersByTimeAsync(0);
    archive.release();
    await vi.advanceTimersByTimeAsync(0);
    archive.release();
    expect(await Promise.all(answers)).toEqual([
      { kind: 'accepted', mark: 1 },
      { kind: 'accepted', mark: 3 },
      { kind: 'accepted', mark: 3 },
    ]);
    expect(archive.groups).toEqual([1, 2]);
  });

  it('answers a real gap after a while, with the mark', async () => {
    const { queue } = setUp();
    const answer = queue.append(range(5));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await answer).toEqual({ kind: 'gap', mark: 0 });
  });

  it('does not give a range up while its predecessor is being written', async () => {
    const { archive, queue } = setUp();
    const answers = [queue.append(range(1)), queue.append(range(2))];
    await vi.advanceTimersByTimeAsync(60_000);
    archive.release();
    await vi.advanceTimersByTimeAsync(0);
    archive.release();
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(['accepted', 'accepted']);
  });

  it('holds a bounded number of ranges', async () => {
    const { queue } = setUp();
    const held = Array.from({ length: MAX_HELD_RANGES }, (_, index) =>
      queue.append(range(index + 5)),
    );
    expect(await queue.append(range(99))).toEqual({ kind: 'gap', mark: 0 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await Promise.all(held)).map(({ kind }) => kind)).toEqual(held.map(() => 'gap'));
  });
});

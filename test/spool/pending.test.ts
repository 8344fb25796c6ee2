import { unlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import {
  countOpen,
  countPending,
  measuredSegments,
  oldestPendingNs,
  settledMarks,
} from '../../src/spool/pending.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const fs = nodeFileSystem;
const nothingSettled = (): number => 0;

async function segmentsOf(run: PreparedRun): Promise<ReturnType<typeof measuredSegments>> {
  return measuredSegments(await fs.measure(run.directory));
}

describe('measuredSegments', () => {
  it('finds segments by name and size, and nothing else', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.sealed('stdout', ['a\n', 'b\n']);
    run.open('stdout', ['c\n']);
    run.file('notes.txt', 'not ours');
    const segments = await segmentsOf(run);
    expect(segments.map(({ stream, first, last }) => [stream, first, last])).toEqual([
      ['stdout', 1, 2],
      ['stdout', 3, undefined],
    ]);
    expect(segments.every(({ sizeBytes }) => sizeBytes > 0)).toBe(true);
  });
});

describe('countOpen', () => {
  it('counts the intact entries of an open segment', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.open('stdout', ['a\n', 'b\n', 'c\n'], '{"v":1,"seq":4');
    const counted = await countOpen(fs, run.directory, await segmentsOf(run), { bytes: 1e6 });
    expect(countPending(counted, nothingSettled)).toBe(3);
  });

  it('leaves uncounted what is beyond the budget', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.open('stdout', ['a\n']);
    const budget = { bytes: 10 };
    const counted = await countOpen(fs, run.directory, await segmentsOf(run), budget);
    expect(counted.map(({ last }) => last)).toEqual([undefined]);
    expect(budget.bytes).toBe(10);
  });

  it('spends the budget over all segments', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.open('stdout', ['a\n']);
    run.open('stderr', ['a\n']);
    const segments = await segmentsOf(run);
    const counted = await countOpen(fs, run.directory, segments, { bytes: 150 });
    expect(counted.map(({ last }) => last).sort()).toEqual([1, undefined]);
  });

  it('passes over a segment that was sealed meanwhile', async () => {
    const run = new PreparedRun(temporaryDirectory());
    const path = run.open('stdout', ['a\n']);
    const segments = await segmentsOf(run);
    unlinkSync(path);
    expect(await countOpen(fs, run.directory, segments, { bytes: 1e6 })).toEqual([]);
  });
});

describe('settledMarks', () => {
  const marks = {
    sinks: {
      a: { marks: { stdout: 5 }, epoch: 1, finished: false, lastAckAt: null, lastError: null },
      b: { marks: { stdout: 3 }, epoch: 1, finished: false, lastAckAt: null, lastError: null },
    },
  };

  it('are those of the slowest destination', () => {
    expect(settledMarks(marks, ['a', 'b'])('stdout')).toBe(3);
    expect(settledMarks(marks, ['a', 'unheard-of'])('stdout')).toBe(0);
  });

  it('are none without a destination', () => {
    expect(settledMarks(marks, [])('stdout')).toBe(0);
  });
});

describe('countPending', () => {
  it('counts the entries above the mark, also within a segment', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.sealed('stdout', ['a\n', 'b\n']);
    run.sealed('stdout', ['c\n', 'd\n', 'e\n']);
    run.sealed('stderr', ['x\n']);
    const segments = await segmentsOf(run);
    expect(countPending(segments, nothingSettled)).toBe(6);
    expect(countPending(segments, (stream) => (stream === 'stdout' ? 3 : 0))).toBe(3);
    expect(countPending(segments, () => 100)).toBe(0);
  });
});

describe('oldestPendingNs', () => {
  it('is the time in the first pending frame, over all streams', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.sealed('stdout', ['a\n'], 100n);
    run.sealed('stdout', ['b\n'], 300n);
    run.sealed('stderr', ['x\n'], 200n);
    const segments = await segmentsOf(run);
    const oldest = (mark: number): Promise<bigint | undefined> =>
      oldestPendingNs(fs, run.directory, segments, (stream) => (stream === 'stdout' ? mark : 0));
    expect(await oldest(0)).toBe(100n);
    expect(await oldest(1)).toBe(200n);
  });

  it('is nothing when nothing is pending, or no header can be read', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.sealed('stdout', ['a\n']);
    run.file('stderr-000000000001-000000000001.seg', 'no frame at all');
    const segments = await segmentsOf(run);
    expect(await oldestPendingNs(fs, run.directory, segments, () => 1)).toBeUndefined();
    expect(
      await oldestPendingNs(fs, run.directory, segments, (stream) => (stream === 'stdout' ? 1 : 0)),
    ).toBeUndefined();
  });

  it('passes over a segment that was removed meanwhile', async () => {
    const run = new PreparedRun(temporaryDirectory());
    const path = run.sealed('stdout', ['a\n']);
    const segments = await segmentsOf(run);
    unlinkSync(path);
    expect(await oldestPendingNs(fs, run.directory, segments, nothingSettled)).toBeUndefined();
  });
});

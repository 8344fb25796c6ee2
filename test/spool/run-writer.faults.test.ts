/**
 * Faults of the disk while a run is captured, at any operation. Capture goes on, and in the end
 * each entry is on disk, or a gap entry in its place counts it; what could not be sealed is sealed
 * by recovery.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StreamName } from '../../src/core/stream.js';
import { recoverLockedRun } from '../../src/spool/recovery.js';
import { readRunRecord } from '../../src/spool/run-record.js';
import type { FsyncMode } from '../../src/spool/seal.js';
import { silentLogger } from '../../src/telemetry/log.js';
import { RunHistory, type Script } from '../support/run-history.js';
import type { SimulatedDisk } from '../support/simulated-disk.js';
import { randomFrom } from '../support/simulated-outcomes.js';
import { DIRECTORY, LAYOUT, RUN_ID, segmentsOf } from '../support/simulated-run.js';

const STREAMS: readonly StreamName[] = ['stdout', 'stderr'];
const CODES = ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'EACCES', 'EROFS', 'EINTR'];
const MODES: readonly FsyncMode[] = ['always', 'segment', 'never'];

const SCRIPT: Script = [
  ['stdout', 'out 1\nout 2\n'],
  ['stderr', 'err 1\n'],
  ['stdout', 'out 3\nout 4\nout 5\n'],
  'time passes',
  ['stdout', 'prompt> '],
  ['stderr', 'err 2\nerr 3\n'],
  ['stdout', '\nout 6\n'],
  'time passes',
  ['stdout', 'out 7\nunterminated'],
];

// More than a thousand captures: a limit for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 120_000 });

let points = 0;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(() => {
  process.stdout.write(`fault points: ${String(points)}\n`);
});

/** What is wrong after a capture on this disk, in words. */
async function problemsAfter(disk: SimulatedDisk, fsync: FsyncMode): Promise<string[]> {
  points += 1;
  const history = new RunHistory(fsync);
  const heal = (): void => {
    disk.faultOf = () => undefined;
    disk.roomBytes = Number.POSITIVE_INFINITY;
  };
  // It fails when the final record cannot be written: then recovery finds none.
  const hasEnded = await history.capture(disk, SCRIPT, heal).then(
    () => true,
    () => false,
  );
  const problems = disk.openFiles === 0 ? [] : ['a file is still open'];
  const next = disk.afterKill();
  const before = await readRunRecord(next, DIRECTORY, RUN_ID);
  if (hasEnded !== (before.record.end !== null)) problems.push('the end is not what it says');
  await recoverLockedRun({ fs: next, layout: LAYOUT, log: silentLogger }, RUN_ID);
  for (const stream of STREAMS) {
    problems.push(...history.accountingOf(next, stream));
    let due = 1;
    for (const { name, state, first, last, end } of segmentsOf(next, stream)) {
      if (state === 'open' || end.kind !== 'complete') problems.push(`${name} is not whole`);
      if (first !== due) problems.push(`${name} does not go on with ${String(due)}`);
      due = last + 1;
    }
  }
  return problems;
}

describe('one failing operation', () => {
  it.each(MODES)('costs nothing that no gap entry counts: --fsync %s', async (fsync) => {
    const found: string[] = [];
    for (let failing = 1; ; failing += 1) {
      let kind: string | undefined;
      for (const [index, code] of CODES.entries()) {
        const disk = await RunHistory.newDisk();
        disk.faultOf = (operation) => {
          if (operation.number !== failing) return undefined;
          kind = operation.kind;
          return { code, writtenBytes: index * 20 };
        };
        const problems = await problemsAfter(disk, fsync);
        found.push(
          ...problems.map((what) => `${String(failing)} ${String(kind)} ${code}: ${what}`),
        );
      }
      if (kind === undefined) break;
    }
    expect(found).toEqual([]);
  });
});

describe('a disk that fails again and again', () => {
  it('costs nothing that no gap entry counts', async () => {
    const found: string[] = [];
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = randomFrom(seed);
      const disk = await RunHistory.newDisk();
      const share = random() / 2;
      disk.faultOf = () =>
        random() < share
          ? {
              code: CODES[Math.floor(random() * CODES.length)]!,
              writtenBytes: Math.floor(random() * 200),
            }
          : undefined;
      const problems = await problemsAfter(disk, MODES[seed % MODES.length]!);
      found.push(...problems.map((what) => `seed ${String(seed)}: ${what}`));
    }
    expect(found).toEqual([]);
  });
});

describe('a disk that is full', () => {
  it('after any number of bytes costs nothing that no gap entry counts', async () => {
    const found: string[] = [];
    for (let roomBytes = 0; roomBytes < 1200; roomBytes += 7) {
      const disk = await RunHistory.newDisk();
      disk.roomBytes = roomBytes;
      const problems = await problemsAfter(disk, 'segment');
      found.push(...problems.map((what) => `${String(roomBytes)} bytes: ${what}`));
    }
    expect(found).toEqual([]);
  });
});

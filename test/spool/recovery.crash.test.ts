/**
 * Crashes of the writer and of recovery, one by one: the process is killed after every operation,
 * the power is cut after every operation, and recovery itself is killed after every operation.
 * Afterwards S1, S2 and S5 must hold, and what was promised must be there.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StreamName } from '../../src/core/stream.js';
import { recoverLockedRun } from '../../src/spool/recovery.js';
import { readRunRecord } from '../../src/spool/run-record.js';
import type { FsyncMode } from '../../src/spool/seal.js';
import { silentLogger } from '../../src/telemetry/log.js';
import {
  visitCrashes,
  visitCrashesWithinAppends,
  type Crash,
} from '../support/crash-enumeration.js';
import { RunHistory, type Script } from '../support/run-history.js';
import type { SimulatedDisk } from '../support/simulated-disk.js';
import { visitOutcomes } from '../support/simulated-outcomes.js';
import {
  DIRECTORY,
  LAYOUT,
  RUN_ID,
  segmentsOf,
  type FoundSegment,
} from '../support/simulated-run.js';

const STREAMS: readonly StreamName[] = ['stdout', 'stderr'];

const SCRIPT: Script = [
  ['stdout', 'out 1\nout 2\n'],
  ['stderr', 'err 1\n'],
  ['stdout', 'out 3\nout 4\nout 5\n'],
  'time passes',
  ['stdout', 'prompt> '],
  ['stderr', `err 2 ${'long '.repeat(120)}\nerr 3\n`],
  ['stdout', '\n'],
  ['stdout', 'out 6\n'],
  'time passes',
  ['stdout', 'out 7\nunterminated'],
];

const report: string[] = [];

// Thousands of crashes: a limit for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 120_000 });

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(() => {
  process.stdout.write(`crash points: ${report.join('; ')}\n`);
});

/** How far a stream must reach. */
type Owed = (stream: StreamName) => number;

/** What a power cut may not take. */
function durable(crashed: SimulatedDisk, history: RunHistory): Owed {
  const lasts = new Map(STREAMS.map((stream) => [stream, history.durableLast(crashed, stream)]));
  return (stream) => lasts.get(stream) ?? 0;
}

/** Recovery by who holds the lock and knows that the writer is dead. */
async function recover(disk: SimulatedDisk): Promise<void> {
  await recoverLockedRun({ fs: disk, layout: LAYOUT, log: silentLogger }, RUN_ID);
}

/** What is wrong with a recovered run, whatever has happened to it before; in words. */
async function problemsOf(disk: SimulatedDisk, history: RunHistory, owed: Owed): Promise<string[]> {
  const { kind, record } = await readRunRecord(disk, DIRECTORY, RUN_ID);
  const problems = kind === 'record' && record.end !== null ? [] : ['the run has no end'];
  for (const stream of STREAMS) {
    const segments = segmentsOf(disk, stream);
    let reached = 0;
    let before = 0;
    for (const segment of segments) {
      problems.push(...problemsOfSegment(segment, stream, history));
      if (segment.first <= before) problems.push(`${segment.name} repeats another segment`);
      if (segment.first === reached + 1) reached = segment.last;
      before = segment.last;
    }
    if (reached < owed(stream)) problems.push(`${stream} ends at ${String(reached)}`);
    const total = record.end?.streams[stream]?.last ?? 0;
    if (total !== before) problems.push(`the total of ${stream} is wrong`);
  }
  const leftovers = disk.files().filter((path) => path.endsWith('.tmp'));
  return [...problems, ...leftovers.map((path) => `${path} was left behind`)];
}

function problemsOfSegment(
  { name, state, first, last, frames, end, bytes }: FoundSegment,
  stream: StreamName,
  history: RunHistory,
): string[] {
  const problems: string[] = [];
  let next = first;
  for (const { seq, n, bodyStart, end: bodyEnd } of frames) {
    if (seq !== next) problems.push(`${name} does not go on with ${String(next)}`);
    if (!history.holds(stream, seq, n, bytes.subarray(bodyStart, bodyEnd))) {
      problems.push(`${name} holds what was never printed`);
    }
    next = seq + n;
  }
  if (state === 'open') problems.push(`${name} is still open`);
  if (end.kind !== 'complete') problems.push(`${name} is ${end.kind}`);
  if (last !== next - 1) problems.push(`the name ${name} lies`);
  return problems;
}

/** Whether a stream misses entries in the middle: possible only above what was promised. */
function hasHole(disk: SimulatedDisk): boolean {
  return STREAMS.some((stream) => {
    const segments = segmentsOf(disk, stream);
    return segments.some(({ first }, index) => first !== (segments[index - 1]?.last ?? 0) + 1);
  });
}

function sameFiles(one: SimulatedDisk, other: SimulatedDisk): boolean {
  const contents = (disk: SimulatedDisk): string =>
    JSON.stringify(disk.files().map((path) => [path, disk.bytesOf(path).toString('latin1')]));
  return contents(one) === contents(other);
}

/** Captures the script on disks that are killed after each operation. */
function visitWriterCrashes(
  fsync: FsyncMode,
  visitEach: typeof visitCrashes,
  visit: (disk: SimulatedDisk, history: RunHistory, point: string) => Promise<void>,
): Promise<number> {
  let history = new RunHistory(fsync);
  const run = (disk: SimulatedDisk): Promise<void> => {
    history = new RunHistory(fsync);
    return history.capture(disk, SCRIPT);
  };
  return visitEach({ newDisk: RunHistory.newDisk, run }, ({ disk, point }) =>
    visit(disk, history, point),
  );
}

/** Recovers what a crash has left, and kills recovery after each of its operations. */
function visitRecoveryCrashes(
  left: SimulatedDisk,
  visit: (crash: Crash) => Promise<void>,
): Promise<number> {
  return visitCrashes({ newDisk: async () => left.afterKill(), run: recover }, visit);
}

describe('a killed process', () => {
  it('loses no entry that was written, whenever it is killed, and recovery too', async () => {
    const found: string[] = [];
    let recoveries = 0;
    const each = visitCrashesWithinAppends;
    const points = await visitWriterCrashes('segment', each, async (crashed, history, point) => {
      const owed: Owed = (stream) => history.writtenLast(stream);
      recoveries += await visitRecoveryCrashes(crashed, async ({ disk, point: recoveryPoint }) => {
        const next = disk.afterKill();
        await recover(next);
        const problems = await problemsOf(next, history, owed);
        if (hasHole(next)) problems.push('there is a hole');
        if (disk.stoppedIn === undefined && !sameFiles(disk, next)) {
          problems.push('the second recovery has changed something');
        }
        found.push(...problems.map((what) => `${point}, recovery ${recoveryPoint}: ${what}`));
      });
    });
    report.push(`writer killed ${String(points)}, recovery killed ${String(recoveries)}`);
    expect(found).toEqual([]);
    expect(points).toBeGreaterThan(100);
    expect(recoveries).toBeGreaterThan(1000);
  });
});

describe('a power cut', () => {
  it.each<[FsyncMode, number]>([
    ['segment', 40],
    ['always', 20],
  ])('takes nothing that --fsync %s has promised, and makes nothing up', async (fsync, limit) => {
    const found: string[] = [];
    let outcomes = 0;
    let holes = 0;
    const points = await visitWriterCrashes(
      fsync,
      visitCrashes,
      async (crashed, history, point) => {
        const owed = durable(crashed, history);
        outcomes += await visitOutcomes(limit, outcomes, async (decide) => {
          const next = crashed.afterPowerCut(decide);
          await recover(next);
          if (hasHole(next)) holes += 1;
          const problems = await problemsOf(next, history, owed);
          found.push(...problems.map((what) => `${point}: ${what}`));
        });
      },
    );
    report.push(
      `power cut (${fsync}) ${String(points)} with ${String(outcomes)} outcomes, ` +
        `${String(holes)} of them with a hole above what was promised`,
    );
    expect(found).toEqual([]);
    expect(outcomes).toBeGreaterThan(1000);
  });

  it('during recovery takes nothing that was promised before', async () => {
    const found: string[] = [];
    let outcomes = 0;
    await visitWriterCrashes('segment', visitCrashes, async (crashed, history, point) => {
      const owed = durable(crashed, history);
      await visitOutcomes(1, outcomes, async (decide) => {
        await visitRecoveryCrashes(crashed.afterPowerCut(decide), async ({ disk }) => {
          outcomes += await visitOutcomes(1, outcomes, async (decideAgain) => {
            const next = disk.afterPowerCut(decideAgain);
            await recover(next);
            const problems = await problemsOf(next, history, owed);
            found.push(...problems.map((what) => `${point}: ${what}`));
          });
        });
      });
    });
    report.push(`power cut during recovery ${String(outcomes)}`);
    expect(found).toEqual([]);
    expect(outcomes).toBeGreaterThan(1000);
  });

  it('with --fsync never may take anything, and makes nothing up', async () => {
    const found: string[] = [];
    let outcomes = 0;
    const points = await visitWriterCrashes('never', visitCrashes, async (crashed, history) => {
      outcomes += await visitOutcomes(15, outcomes, async (decide) => {
        const next = crashed.afterPowerCut(decide);
        await recover(next);
        const problems = await problemsOf(next, history, () => 0);
        found.push(...problems.filter((what) => /never printed|repeats|go on/.test(what)));
      });
    });
    report.push(`power cut (never) ${String(points)} with ${String(outcomes)} outcomes`);
    expect(found).toEqual([]);
    expect(outcomes).toBeGreaterThan(1000);
  });
});

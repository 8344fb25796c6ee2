/**
 * Crashes of removal and of the marks, one by one: an uploader is killed, or the power cut, after
 * each of its operations, and the next one goes on. S4: nothing leaves the spool before it was
 * accepted; and in the end everything was accepted once, and nothing of the run is left.
 */
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StreamName } from '../../src/core/stream.js';
import { commitFile } from '../../src/disk/durable.js';
import { createRun, removeLeftovers } from '../../src/spool/create-run.js';
import { listRun } from '../../src/spool/listing.js';
import { NEW_SINK_MARKS, readMarks, writeMarks } from '../../src/spool/marks.js';
import { removeRun, removeSegments } from '../../src/spool/removal.js';
import { readRunRecord, writeRunRecord } from '../../src/spool/run-record.js';
import { sealedSegmentName } from '../../src/spool/segment-name.js';
import { visitCrashes } from '../support/crash-enumeration.js';
import { frameOf } from '../support/frames.js';
import { SimulatedDisk } from '../support/simulated-disk.js';
import { visitOutcomes } from '../support/simulated-outcomes.js';
import { DIRECTORY, LAYOUT, RECORD, RUN_ID, segmentsOf } from '../support/simulated-run.js';

const STREAMS: readonly StreamName[] = ['stdout', 'stderr'];
const SINK = 'dir:/archive';

/** Sequences of the sealed segments of each stream. */
const SEGMENTS = [
  [1, 1],
  [2, 4],
  [5, 5],
] as const;
const LAST = 5;

const report: string[] = [];

vi.setConfig({ testTimeout: 120_000 });

afterAll(() => {
  process.stdout.write(`crash points: ${report.join('; ')}\n`);
});

/** A finished run, everything sealed and synced, nothing delivered. */
async function finishedRun(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await createRun(disk, LAYOUT, RECORD);
  for (const stream of STREAMS) {
    for (const [first, last] of SEGMENTS) {
      const path = `${DIRECTORY}/${sealedSegmentName(stream, first, last)}`;
      await commitFile(disk, path, frameOf(first, 'x\n'.repeat(last - first + 1)));
    }
  }
  const total = { last: LAST, bytes: 2 * LAST, sha256: null };
  const streams = { stdout: total, stderr: total };
  const end = { streams, exit: { code: 0 }, gaps: 0, endedAt: null };
  await writeRunRecord(disk, DIRECTORY, { ...RECORD, end });
  return disk.afterKill();
}

/** What has arrived at the destination, which never forgets. */
class Destination {
  readonly marks = new Map<StreamName, number>();
  readonly complaints: string[] = [];
  isFinished = false;

  take(stream: StreamName, first: number, last: number): void {
    const mark = this.mark(stream);
    if (first > mark + 1) this.complaints.push(`${stream} misses ${String(mark + 1)}`);
    if (last <= mark) this.complaints.push(`${stream} ${String(last)} was sent again`);
    this.marks.set(stream, Math.max(mark, last));
  }

  finish(): void {
    for (const stream of STREAMS) {
      if (this.mark(stream) !== LAST) this.complaints.push(`${stream} is not complete`);
    }
    this.isFinished = true;
  }

  mark(stream: StreamName): number {
    return this.marks.get(stream) ?? 0;
  }
}

/**
 * An uploader in its simplest form: sends, writes the marks, removes; one segment after the other.
 */
async function deliver(disk: SimulatedDisk, destination: Destination): Promise<void> {
  await removeLeftovers(disk, LAYOUT, () => true);
  const { kind } = await readRunRecord(disk, DIRECTORY, RUN_ID);
  for (const stream of STREAMS) {
    const { sealed } = await listRun(disk, DIRECTORY);
    const known = (await readMarks(disk, DIRECTORY)).sinks[SINK]?.marks[stream] ?? 0;
    if (known > destination.mark(stream)) destination.complaints.push('a mark was made up');
    for (const segment of sealed.get(stream) ?? []) {
      if (segment.last > destination.mark(stream)) {
        destination.take(stream, segment.first, segment.last);
        const marks = Object.fromEntries(destination.marks);
        await writeMarks(disk, DIRECTORY, { sinks: { [SINK]: { ...NEW_SINK_MARKS, marks } } });
      }
      await removeSegments(disk, DIRECTORY, [segment]);
    }
  }
  if (kind === 'record' && !destination.isFinished) destination.finish();
  await removeRun(disk, LAYOUT, RUN_ID);
}

/** What is wrong between the two, in words. */
function problemsBetween(disk: SimulatedDisk, destination: Destination): string[] {
  const problems = [...destination.complaints];
  for (const stream of STREAMS) {
    const [oldest] = segmentsOf(disk, stream);
    const next = destination.mark(stream) + 1;
    const isLost = next <= LAST && (oldest === undefined || oldest.first > next);
    if (isLost) problems.push(`${stream} ${String(next)} is nowhere`);
  }
  return problems;
}

let destination: Destination;

beforeEach(() => {
  destination = new Destination();
});

/** Delivers on disks whose uploader is killed after each operation. */
function visitUploaderCrashes(
  visit: (disk: SimulatedDisk, point: string) => Promise<void>,
): Promise<number> {
  const run = async (disk: SimulatedDisk): Promise<void> => {
    destination = new Destination();
    await deliver(disk, destination);
  };
  return visitCrashes({ newDisk: finishedRun, run }, ({ disk, point }) => visit(disk, point));
}

/** The state of the destination goes on from here, again and again. */
function copyOf(original: Destination): Destination {
  const copy = new Destination();
  for (const [stream, mark] of original.marks) copy.marks.set(stream, mark);
  copy.isFinished = original.isFinished;
  return copy;
}

async function problemsOfRest(disk: SimulatedDisk, left: Destination): Promise<string[]> {
  const before = problemsBetween(disk, left);
  await deliver(disk, left);
  const files = disk.files().map((path) => `${path} was left behind`);
  const runs = (await disk.list(LAYOUT.runs)).map((name) => `${name} was left behind`);
  return [...before, ...problemsBetween(disk, left), ...files, ...runs];
}

describe('an uploader that is killed', () => {
  it('removes nothing before it was accepted, and the next one finishes the rest', async () => {
    const found: string[] = [];
    let again = 0;
    const points = await visitUploaderCrashes(async (crashed, point) => {
      const left = destination;
      found.push(...problemsBetween(crashed, left));
      let second = copyOf(left);
      const run = async (disk: SimulatedDisk): Promise<void> => {
        second = copyOf(left);
        await deliver(disk, second);
      };
      again += await visitCrashes(
        { newDisk: async () => crashed.afterKill(), run },
        async (next) => {
          const problems = await problemsOfRest(next.disk.afterKill(), copyOf(second));
          found.push(...problems.map((what) => `${point}, then ${next.point}: ${what}`));
        },
      );
    });
    report.push(`uploader killed ${String(points)}, killed again ${String(again)}`);
    expect(found).toEqual([]);
    expect(again).toBeGreaterThan(1000);
  });
});

describe('a power cut', () => {
  it('brings back what was removed at most, and that is not sent again', async () => {
    const found: string[] = [];
    let outcomes = 0;
    await visitUploaderCrashes(async (crashed, point) => {
      const left = destination;
      outcomes += await visitOutcomes(30, outcomes, async (decide) => {
        const problems = await problemsOfRest(crashed.afterPowerCut(decide), copyOf(left));
        found.push(...problems.map((what) => `${point}: ${what}`));
      });
    });
    report.push(`power cut ${String(outcomes)}`);
    expect(found).toEqual([]);
    expect(outcomes).toBeGreaterThan(1000);
  });
});

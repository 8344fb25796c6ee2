import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRun } from '../../src/spool/create-run.js';
import { readRunRecord } from '../../src/spool/run-record.js';
import { RunWriter } from '../../src/spool/run-writer.js';
import type { WriterTrouble } from '../../src/spool/stream-writer.js';
import { withCode } from '../support/file-system-suite.js';
import { SimulatedDisk } from '../support/simulated-disk.js';
import {
  bytesIn,
  DIRECTORY,
  LAYOUT,
  ManualClock,
  RECORD,
  RUN_ID,
  segmentsOf,
} from '../support/simulated-run.js';
import { append } from '../support/writer-bench.js';

let disk: SimulatedDisk;
let troubles: WriterTrouble[];
let writer: RunWriter;

beforeEach(async () => {
  disk = new SimulatedDisk();
  troubles = [];
  await createRun(disk, LAYOUT, RECORD);
  writer = new RunWriter(
    {
      fs: disk,
      layout: LAYOUT,
      clock: new ManualClock(),
      settings: {
        segmentMaxBytes: 8192,
        segmentMaxEntries: 4,
        flushIntervalMs: 100_000,
        fsync: 'segment',
      },
      onTrouble: (trouble) => troubles.push(trouble),
    },
    RECORD,
  );
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('a run writer', () => {
  it('has one writer for each stream', () => {
    expect(writer.stream('stdout')).toBe(writer.stream('stdout'));
    expect(writer.stream('stdout')).not.toBe(writer.stream('stderr'));
  });

  it('numbers the frames of all streams in the order of their reads', async () => {
    const [out, err] = [writer.stream('stdout'), writer.stream('stderr')];
    for (const stream of [out, err, err, out, err]) append(stream, 'x\n');
    await writer.finish({ code: 0 });
    const orderOf = (stream: 'stdout' | 'stderr'): number[] =>
      segmentsOf(disk, stream).flatMap(({ frames }) => frames.map(({ o }) => o));
    expect(orderOf('stdout')).toEqual([0, 3]);
    expect(orderOf('stderr')).toEqual([1, 2, 4]);
  });

  it('tells totals, digests and the end in the record, of what is on disk', async () => {
    append(writer.stream('stdout'), 'a\nb\n');
    append(writer.stream('stderr'), 'c');
    const end = await writer.finish({ code: 3 });
    expect(end).toEqual({
      streams: {
        stdout: { last: 2, bytes: 4, sha256: sha256('a\nb\n') },
        stderr: { last: 1, bytes: 1, sha256: sha256('c') },
      },
      exit: { code: 3 },
      gaps: 0,
      endedAt: '2025-11-30T10:53:20.000Z',
    });
    expect((await readRunRecord(disk, DIRECTORY, RUN_ID)).record).toEqual({ ...RECORD, end });
    for (const stream of ['stdout', 'stderr'] as const) {
      expect(sha256(bytesIn(segmentsOf(disk, stream)).toString())).toBe(
        end.streams[stream]?.sha256,
      );
    }
  });

  it('writes the final record last, when every segment is sealed, and rings', async () => {
    for (let line = 0; line < 9; line += 1) {
      append(writer.stream('stdout'), 'x\n');
      append(writer.stream('stderr'), 'y\n');
    }
    const before = disk.trace.length;
    await writer.finish({ signal: 'SIGTERM' });
    const changes = disk.trace
      .slice(before)
      .filter(({ kind, path }) => kind === 'rename' || path.startsWith(LAYOUT.wake))
      .map(({ path }) => path.replace(/^.*\//, ''));
    const record = changes.indexOf('run.json.tmp');
    expect(changes.slice(0, record).filter((name) => name.endsWith('.open'))).toHaveLength(6);
    expect(changes.slice(record + 1).every((name) => name === RUN_ID)).toBe(true);
    expect(changes.length).toBeGreaterThan(record + 1);
    expect(disk.files().filter((path) => path.endsWith('.open'))).toEqual([]);
    expect(disk.openFiles).toBe(0);
  });

  it('finishes a run that printed nothing', async () => {
    const end = await writer.finish({ code: 0 });
    expect(end.streams).toEqual({});
    expect(disk.files()).toEqual([`${DIRECTORY}/run.json`, `${LAYOUT.wake}/${RUN_ID}`]);
  });

  it('counts the gap entries of all streams', async () => {
    disk.roomBytes = 0;
    append(writer.stream('stdout'), 'lost\n');
    append(writer.stream('stderr'), 'lost\n');
    disk.roomBytes = Infinity;
    expect((await writer.finish({ code: 0 })).gaps).toBe(2);
  });

  it('has every entry on disk when the final record cannot be written', async () => {
    append(writer.stream('stdout'), 'a\n');
    disk.roomBytes = 1;
    await expect(writer.finish({ code: 0 })).rejects.toThrow(withCode('ENOSPC'));
    const found = segmentsOf(disk, 'stdout');
    expect(found.map(({ state }) => state)).toEqual(['sealed']);
    expect((await readRunRecord(disk, DIRECTORY, RUN_ID)).record).toEqual(RECORD);
  });

  it('goes on without a bell', async () => {
    await disk.unlink(`${LAYOUT.wake}/${RUN_ID}`);
    append(writer.stream('stdout'), 'a\n');
    await writer.finish({ code: 0 });
    expect(disk.files().filter((path) => path.startsWith(LAYOUT.wake))).toEqual([]);
    expect(troubles).toEqual([]);
  });
});

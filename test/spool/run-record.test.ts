import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunTotals } from '../../src/core/run.js';
import { commitFile } from '../../src/disk/durable.js';
import {
  readRunRecord,
  writeRunRecord,
  type RunRecord,
  type RunRecordReading,
} from '../../src/spool/run-record.js';
import type { SimulatedDisk } from '../support/simulated-disk.js';
import { DIRECTORY, diskWithRun, RECORD, RUN_ID } from '../support/simulated-run.js';

const END: RunTotals = {
  streams: {
    stdout: { last: 5, bytes: 70, sha256: 'ab'.repeat(32) },
    stderr: { last: 0, bytes: null, sha256: null },
  },
  exit: { code: 3 },
  gaps: 1,
  endedAt: '2025-12-01T01:00:00.000Z',
};

async function readBack(record: RunRecord): Promise<RunRecordReading> {
  const disk = await diskWithRun();
  await writeRunRecord(disk, DIRECTORY, record);
  return readRunRecord(disk, DIRECTORY, RUN_ID);
}

async function read(content: string | Buffer): Promise<RunRecordReading> {
  const disk = await diskWithRun();
  await commitFile(disk, `${DIRECTORY}/run.json`, Buffer.from(content));
  return readRunRecord(disk, DIRECTORY, RUN_ID);
}

async function written(disk: SimulatedDisk, record: RunRecord): Promise<Record<string, unknown>> {
  await writeRunRecord(disk, DIRECTORY, record);
  return JSON.parse(disk.bytesOf(`${DIRECTORY}/run.json`).toString()) as Record<string, unknown>;
}

describe('a run record', () => {
  it.each<[string, RunRecord]>([
    ['of a live run', RECORD],
    ['of a run that has ended', { ...RECORD, end: END }],
    ['of a run that a signal ended', { ...RECORD, end: { ...END, exit: { signal: 'SIGKILL' } } }],
    [
      'of a run whose end nobody saw',
      { ...RECORD, end: { ...END, exit: { unknown: true }, endedAt: null } },
    ],
    ['without a known writer', { ...RECORD, writer: null }],
    [
      'with labels and destinations',
      { ...RECORD, labels: { team: 'x', ü: '' }, destinations: ['dir:/a', 'dir:/b'] },
    ],
  ])('%s reads back as it was written', async (_, record) => {
    expect(await readBack(record)).toEqual({ kind: 'record', record });
  });

  it('has the end beside the beginning, for people and `jq`', async () => {
    const disk = await diskWithRun();
    const content = await written(disk, { ...RECORD, end: END });
    expect(content).toMatchObject({ v: 1, id: RUN_ID, exit: { code: 3 }, gaps: 1 });
    expect(content).not.toHaveProperty('end');
    expect(await written(disk, RECORD)).not.toHaveProperty('exit');
  });

  it('is delivered with fields that a later version adds', async () => {
    const content = JSON.stringify({ ...RECORD, end: undefined, colour: 'green', nested: [{}] });
    expect(await read(content)).toEqual({ kind: 'record', record: RECORD });
  });

  it('that is missing leaves what can be said without it', async () => {
    const reading = await readRunRecord(await diskWithRun(), DIRECTORY, RUN_ID);
    expect(reading).toMatchObject({
      kind: 'unreadable',
      reason: 'run.json is missing',
      record: { id: RUN_ID, destinations: [], writer: null, end: null },
    });
  });

  it.each([
    ['empty', ''],
    ['zeros', '\0'.repeat(300)],
    ['cut', JSON.stringify(RECORD).slice(0, 100)],
    ['another run’s', JSON.stringify({ ...RECORD, id: RUN_ID.replace('0', '1') })],
    ['no object', '[]'],
    ['null', 'null'],
    ['of a later version', JSON.stringify({ ...RECORD, v: 2 })],
    ['with a command that is no list', JSON.stringify({ ...RECORD, command: 'true' })],
    ['with a label that is no text', JSON.stringify({ ...RECORD, labels: { a: 1 } })],
    ['with half a pid', JSON.stringify({ ...RECORD, pid: 1.5 })],
    ['without a name', JSON.stringify({ ...RECORD, name: undefined })],
  ])('that is %s is called damaged, and nothing is thrown', async (_, content) => {
    expect(await read(content)).toMatchObject({
      kind: 'unreadable',
      reason: 'run.json is damaged',
      record: { id: RUN_ID, end: null },
    });
  });

  it('with a damaged identity has no known writer', async () => {
    const { record } = await read(JSON.stringify({ ...RECORD, writer: { pid: 'x' } }));
    expect(record.writer).toBeNull();
  });

  it('never makes the reader throw, whatever is in it', async () => {
    const values = fc.oneof(fc.json(), fc.string());
    const mutated = fc
      .tuple(fc.constantFrom(...Object.keys(RECORD)), fc.jsonValue())
      .map(([key, value]) => JSON.stringify({ ...RECORD, ...END, [key]: value }));
    await fc.assert(
      fc.asyncProperty(fc.oneof(values, mutated), async (content) => {
        expect(['record', 'unreadable']).toContain((await read(content)).kind);
      }),
      { numRuns: 500 },
    );
  });

  it('that cannot be replaced stays as it was', async () => {
    const disk = await diskWithRun();
    await writeRunRecord(disk, DIRECTORY, RECORD);
    disk.roomBytes = 10;
    await expect(writeRunRecord(disk, DIRECTORY, { ...RECORD, end: END })).rejects.toThrow(
      'ENOSPC',
    );
    expect((await readRunRecord(disk, DIRECTORY, RUN_ID)).record).toEqual(RECORD);
  });
});

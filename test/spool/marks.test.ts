import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commitFile } from '../../src/disk/durable.js';
import {
  NEW_SINK_MARKS,
  NO_MARKS,
  readMarks,
  writeMarks,
  type Marks,
} from '../../src/spool/marks.js';
import { DIRECTORY, diskWithRun } from '../support/simulated-run.js';
import { visitOutcomes } from '../support/simulated-outcomes.js';

const PATH = `${DIRECTORY}/marks.json`;

const MARKS: Marks = {
  sinks: {
    'dir:/a': {
      marks: { stdout: 17, stderr: 0 },
      epoch: 3,
      finished: false,
      lastAckAt: '2025-12-01T00:00:00.000Z',
      lastError: null,
    },
    'shipper+http://h:1': { ...NEW_SINK_MARKS, lastError: 'connection "refused"\n' },
  },
};

async function read(content: string | Buffer): Promise<Marks> {
  const disk = await diskWithRun();
  await commitFile(disk, PATH, Buffer.from(content));
  return readMarks(disk, DIRECTORY);
}

/** Marks with a right checksum, whatever they are. */
function sealed(sinks: string): string {
  return `{"v":1,"crc":"${crc32(sinks).toString(16).padStart(8, '0')}","sinks":${sinks}}\n`;
}

async function contentOf(marks: Marks): Promise<Buffer> {
  const disk = await diskWithRun();
  await writeMarks(disk, DIRECTORY, marks);
  return disk.bytesOf(PATH);
}

describe('marks', () => {
  it('read back as they were written', async () => {
    expect(await read(await contentOf(MARKS))).toEqual(MARKS);
    expect(await read(await contentOf(NO_MARKS))).toEqual(NO_MARKS);
  });

  it('are none when the file is lost', async () => {
    expect(await readMarks(await diskWithRun(), DIRECTORY)).toEqual(NO_MARKS);
  });

  it('are none for any flipped bit and any cut', async () => {
    const content = await contentOf(MARKS);
    for (let bit = 0; bit < content.length * 8; bit += 1) {
      const damaged = Buffer.from(content);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      expect(await read(damaged)).toBe(NO_MARKS);
    }
    for (let length = 0; length < content.length; length += 1) {
      expect(await read(content.subarray(0, length))).toBe(NO_MARKS);
    }
  });

  it('are none when they are of a newer version', async () => {
    const content = (await contentOf(MARKS)).toString();
    expect(await read(content.replace('"v":1', '"v":2'))).toBe(NO_MARKS);
  });

  it('are none when they were written right, and mean nothing', async () => {
    const one = MARKS.sinks['dir:/a']!;
    const nonsense = [
      '',
      'x',
      'null',
      '[]',
      '{"a":null}',
      '{"a":{}}',
      ...[
        { ...one, marks: null },
        { ...one, marks: { stdin: 1 } },
        { ...one, marks: { stdout: -1 } },
        { ...one, marks: { stdout: 1.5 } },
        { ...one, epoch: 'x' },
        { ...one, finished: 1 },
        { ...one, lastAckAt: 5 },
        { ...one, lastError: undefined },
      ].map((sink) => JSON.stringify({ a: sink })),
    ];
    for (const sinks of nonsense) expect(await read(sealed(sinks))).toBe(NO_MARKS);
  });

  it('never make the reader throw', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string(), fc.json().map(sealed)), async (content) => {
        expect(await read(content)).toHaveProperty('sinks');
      }),
      { numRuns: 500 },
    );
  });

  it('are the old ones, the new ones or none after a power cut, and none is made up', async () => {
    const disk = await diskWithRun();
    await writeMarks(disk, DIRECTORY, NO_MARKS);
    await writeMarks(disk, DIRECTORY, MARKS);
    await visitOutcomes(500, 1, async (decide) => {
      const found = await readMarks(disk.afterPowerCut(decide), DIRECTORY);
      expect([MARKS, NO_MARKS]).toContainEqual(found);
    });
  });

  it('are replaced without a sync: losing them costs a request, not an entry', async () => {
    const disk = await diskWithRun();
    await writeMarks(disk, DIRECTORY, MARKS);
    expect(disk.lines.filter((line) => line.includes('sync'))).toEqual([]);
  });
});

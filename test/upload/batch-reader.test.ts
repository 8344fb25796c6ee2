import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { scanFrames } from '../../src/frames/scan.js';
import { listRun } from '../../src/spool/listing.js';
import { sealedSegmentName } from '../../src/spool/segment-name.js';
import { BatchReader, type BatchReading, type ReadBatch } from '../../src/upload/batch-reader.js';
import { frameOf } from '../support/frames.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const BUFFER_BYTES = 64 * 1024;

function line(seq: number): string {
  return `line ${String(seq)} ${'x'.repeat(seq % 17)}\n`;
}

/** Segments of frames of so many one-line entries each. Returns the whole text. */
function lay(directory: string, segments: readonly (readonly number[])[]): string {
  let seq = 1;
  let text = '';
  for (const frames of segments) {
    const first = seq;
    const bytes = frames.map((entries) => {
      const body = Array.from({ length: entries }, (_, index) => line(seq + index)).join('');
      const frame = frameOf(seq, body);
      seq += entries;
      text += body;
      return frame;
    });
    const name = sealedSegmentName('stdout', first, seq - 1);
    writeFileSync(join(directory, name), Buffer.concat(bytes));
  }
  return text;
}

async function readerOf(directory: string, fs = nodeFileSystem): Promise<BatchReader> {
  const reader = new BatchReader(fs, directory);
  reader.setSegments((await listRun(nodeFileSystem, directory)).sealed.get('stdout') ?? []);
  return reader;
}

function bodyOf({ buffer, bytes, frames }: ReadBatch): string {
  // The body is one piece: what the frames say is what a receiver will scan.
  expect(scanFrames(buffer.subarray(0, bytes))).toMatchObject({
    end: { kind: 'complete' },
    frames,
  });
  return frames.map((frame) => buffer.toString('latin1', frame.bodyStart, frame.end)).join('');
}

/** Reads on until there is no batch any more. */
async function readAll(
  reader: BatchReader,
  from: number,
  maxBytes: number,
): Promise<{ batches: ReadBatch[]; end: BatchReading }> {
  const batches: ReadBatch[] = [];
  for (let next = from; ;) {
    const reading = await reader.read(next, maxBytes, Buffer.alloc(BUFFER_BYTES));
    if (reading.kind !== 'batch') return { batches, end: reading };
    batches.push(reading);
    next = reading.last + 1;
  }
}

describe('BatchReader', () => {
  it('cuts any segments into contiguous, complete batches within the limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }), {
          minLength: 1,
          maxLength: 8,
        }),
        fc.integer({ min: 1, max: 2000 }),
        fc.nat(),
        async (segments, maxBytes, seed) => {
          const directory = temporaryDirectory();
          const text = lay(directory, segments);
          const total = segments.flat().reduce((sum, entries) => sum + entries, 0);
          const from = 1 + (seed % total);
          const { batches, end } = await readAll(await readerOf(directory), from, maxBytes);
          expect(end).toEqual({ kind: 'nothing' });
          // The first may begin before `from`, inside the frame that holds it.
          const start = batches[0]?.first ?? 0;
          expect(start).toBeLessThanOrEqual(from);
          let due = start;
          for (const batch of batches) {
            expect(batch.first).toBe(due);
            expect(batch.bytes <= maxBytes || batch.frames.length === 1).toBe(true);
            due = batch.last + 1;
          }
          expect(due).toBe(total + 1);
          const lines = text.split('\n').slice(start - 1);
          expect(batches.map(bodyOf).join('')).toBe(lines.join('\n'));
          rmSync(directory, { recursive: true });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('lets small neighbours travel together', async () => {
    const directory = temporaryDirectory();
    lay(
      directory,
      Array.from({ length: 500 }, () => [1]),
    );
    const { batches } = await readAll(await readerOf(directory), 1, BUFFER_BYTES);
    expect(batches).toHaveLength(1);
    expect(batches[0]).toMatchObject({ first: 1, last: 500 });
  });

  it('goes on in a large segment where it stopped, and elsewhere when it is told to', async () => {
    const directory = temporaryDirectory();
    lay(directory, [Array.from({ length: 100 }, () => 5)]);
    const reader = await readerOf(directory);
    const buffer = Buffer.alloc(BUFFER_BYTES);
    const first = await reader.read(1, 500, buffer);
    if (first.kind !== 'batch') throw new Error('no batch');
    const second = await reader.read(first.last + 1, 500, Buffer.alloc(BUFFER_BYTES));
    expect(second).toMatchObject({ kind: 'batch', first: first.last + 1 });
    const again = await reader.read(1, 500, Buffer.alloc(BUFFER_BYTES));
    expect(again).toMatchObject({ first: 1, last: first.last });
    expect(await reader.read(480, 500, Buffer.alloc(BUFFER_BYTES))).toMatchObject({ first: 476 });
  });

  it('reads little more of a large segment than its batches take', async () => {
    const directory = temporaryDirectory();
    lay(directory, [Array.from({ length: 2000 }, () => 2)]);
    let bytesRead = 0;
    const counting: FileSystem = {
      ...nodeFileSystem,
      openRead: async (path) => {
        const file = await nodeFileSystem.openRead(path);
        const read = async (target: Uint8Array, position: number): Promise<number> => {
          const filled = await file.read(target, position);
          bytesRead += filled;
          return filled;
        };
        return { ...file, read };
      },
    };
    const { batches, end } = await readAll(await readerOf(directory, counting), 1, 1000);
    expect(end).toEqual({ kind: 'nothing' });
    const total = batches.reduce((sum, { bytes }) => sum + bytes, 0);
    // What is left of a read that did not end with a frame is read again.
    expect(bytesRead).toBeLessThan(total * 1.2);
  });

  it('opens each of many one-entry files once, however many there are', async () => {
    const directory = temporaryDirectory();
    const count = 5000;
    lay(
      directory,
      Array.from({ length: count }, () => [1]),
    );
    const opened: string[] = [];
    const counting: FileSystem = {
      ...nodeFileSystem,
      openRead: (path) => {
        opened.push(path);
        return nodeFileSystem.openRead(path);
      },
    };
    const reader = await readerOf(directory, counting);
    let batches = 0;
    for (let next = 1; next <= count; batches += 1) {
      const reading = await reader.read(next, 1_000_000, Buffer.alloc(1_000_000));
      if (reading.kind !== 'batch') throw new Error('no batch');
      next = reading.last + 1;
    }
    expect(opened).toHaveLength(count);
    // One is as much as others have to wait for.
    expect(batches).toBe(2);
  });

  it('lets a frame that is larger than the limit travel alone, wherever it lies', async () => {
    const directory = temporaryDirectory();
    const frames = [frameOf(1, 'a\n'), frameOf(2, `${'x'.repeat(5000)}\n`), frameOf(3, 'c\n')];
    const path = join(directory, sealedSegmentName('stdout', 1, 3));
    writeFileSync(path, Buffer.concat(frames));
    const { batches } = await readAll(await readerOf(directory), 1, 200);
    expect(batches.map(({ first, last }) => [first, last])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    const [inside] = (await readAll(await readerOf(directory), 3, 200)).batches;
    expect(inside).toMatchObject({ first: 3, last: 3 });
  });

  it('has nothing beyond what is sealed', async () => {
    const directory = temporaryDirectory();
    lay(directory, [[3]]);
    const reader = await readerOf(directory);
    expect(reader.lastSealed).toBe(3);
    expect(await reader.read(4, 500, Buffer.alloc(BUFFER_BYTES))).toEqual({ kind: 'nothing' });
  });

  it('stops before a segment that is missing, and says which entries', async () => {
    const directory = temporaryDirectory();
    lay(directory, [[2], [3], [4]]);
    rmSync(join(directory, sealedSegmentName('stdout', 3, 5)));
    const { batches, end } = await readAll(await readerOf(directory), 1, BUFFER_BYTES);
    expect(batches.map(({ last }) => last)).toEqual([2]);
    expect(end).toEqual({ kind: 'blocked', reason: 'entries 3 to 5 are missing' });
  });

  it('delivers the intact frames before a damaged one, and says file and offset', async () => {
    const directory = temporaryDirectory();
    const good = frameOf(1, 'good\n');
    const bad = frameOf(2, 'bad\n');
    bad[bad.length - 2] = (bad.at(-2) ?? 0) ^ 1;
    const name = sealedSegmentName('stdout', 1, 3);
    writeFileSync(join(directory, name), Buffer.concat([good, bad, frameOf(3, 'lost\n')]));
    const { batches, end } = await readAll(await readerOf(directory), 1, BUFFER_BYTES);
    expect(batches.map(({ last }) => last)).toEqual([1]);
    const reason = `${name} at byte ${String(good.length)}: checksum mismatch`;
    expect(end).toEqual({ kind: 'blocked', reason });
  });

  it.each([
    ['is empty', () => Buffer.alloc(0), 'does not hold what its name says'],
    ['is torn', () => frameOf(1, 'a\nb\n').subarray(0, -1), 'the last frame is not whole'],
    ['holds fewer entries than its name says', () => frameOf(1, 'a\n'), 'does not hold'],
    ['holds other entries', () => frameOf(5, 'a\nb\n'), 'a frame is missing'],
    ['is of a newer format', () => Buffer.from('{"v":2,"seq":1}\n'), 'newer than this reader'],
    ['is full of zeroes', () => Buffer.alloc(5000), 'no header line'],
  ])('stops at a segment that %s', async (_, content, why) => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, sealedSegmentName('stdout', 1, 2)), content());
    const { end } = await readAll(await readerOf(directory), 1, BUFFER_BYTES);
    expect(end).toMatchObject({ kind: 'blocked', reason: expect.stringContaining(why) as string });
  });

  it('says that a segment has vanished, or cannot be read', async () => {
    const directory = temporaryDirectory();
    lay(directory, [[2]]);
    const reader = await readerOf(directory);
    const path = join(directory, sealedSegmentName('stdout', 1, 2));
    rmSync(path);
    const buffer = Buffer.alloc(BUFFER_BYTES);
    expect(await reader.read(1, 500, buffer)).toMatchObject({
      reason: expect.stringContaining('has vanished') as string,
    });
    mkdirSync(path);
    expect(await reader.read(1, 500, buffer)).toMatchObject({
      reason: expect.stringContaining('cannot be read: EISDIR') as string,
    });
  });
});

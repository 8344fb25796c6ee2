import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_BODY_BYTES } from '../../src/frames/frame.js';
import { bodies } from '../support/frames.js';
import { bytesIn } from '../support/simulated-run.js';
import { append, newBench, type WriterBench } from '../support/writer-bench.js';

let bench: WriterBench;

beforeEach(async () => {
  vi.useFakeTimers();
  bench = await newBench();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a stream writer', () => {
  it('creates nothing before the first entry', async () => {
    await bench.newWriter().close();
    expect(bench.disk.files()).toEqual([]);
  });

  it('has each read on disk as one frame before append returns', () => {
    const writer = bench.newWriter();
    append(writer, 'a\nb\n');
    append(writer, 'c\n');
    const [segment] = bench.segments();
    expect(segment?.name).toBe('stdout-000000000001.open');
    expect(segment?.frames.map(({ seq, n, o }) => [seq, n, o])).toEqual([
      [1, 2, 0],
      [3, 1, 1],
    ]);
    expect(bytesIn([segment!]).toString()).toBe('a\nb\nc\n');
    expect(bench.disk.lines.filter((line) => line.startsWith('append'))).toHaveLength(2);
  });

  it('takes a body in parts, which may be reused afterwards', async () => {
    const writer = bench.newWriter();
    const reused = Buffer.from('ab');
    writer.append([reused, Buffer.from('c\n')], 1);
    reused.fill('x');
    await writer.close();
    expect(bytesIn(bench.segments()).toString()).toBe('abc\n');
  });

  it('seals what is open when it is closed, and lets go of every file', async () => {
    const writer = bench.newWriter();
    append(writer, 'a\nb\n');
    await writer.close();
    expect(bench.segments().map(({ name }) => name)).toEqual([
      'stdout-000000000001-000000000002.seg',
    ]);
    expect(bench.sealed).toBe(1);
    expect(bench.disk.openFiles).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('tells the totals of exactly the bytes on disk', async () => {
    const writer = bench.newWriter();
    append(writer, 'a\n');
    append(writer, Buffer.from([0, 0xff, 0x0a, 0x0d]));
    await writer.close();
    const bytes = bytesIn(bench.segments());
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(writer.totals()).toEqual({ last: 3, bytes: bytes.length, sha256 });
    expect(writer.gaps).toBe(0);
  });

  it('keeps every byte in order over contiguous segments, whatever is appended', async () => {
    const reads = fc.array(bodies, { minLength: 1, maxLength: 20 });
    const bounds = fc.record({
      segmentMaxBytes: fc.integer({ min: 300, max: 2000 }),
      segmentMaxEntries: fc.integer({ min: 1, max: 30 }),
    });
    await fc.assert(
      fc.asyncProperty(reads, bounds, async (appended, settings) => {
        bench = await newBench();
        const writer = bench.newWriter(settings);
        for (const body of appended) append(writer, body);
        await writer.close();
        const found = bench.checkedSegments();
        expect(bytesIn(found).equals(Buffer.concat(appended))).toBe(true);
        for (const { state, first, last, bytes, frames } of found) {
          expect(state).toBe('sealed');
          expect(last - first + 1).toBeLessThanOrEqual(settings.segmentMaxEntries);
          if (frames.length > 1) expect(bytes.length).toBeLessThanOrEqual(settings.segmentMaxBytes);
        }
        expect(bench.troubles).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('a segment is sealed', () => {
  it('when it holds as many entries as it may, also in the middle of a read', async () => {
    const writer = bench.newWriter({ segmentMaxEntries: 3 });
    append(writer, 'a\nb\n');
    append(writer, 'c\nd\ne\nf\ng\n');
    await writer.close();
    expect(bench.checkedSegments().map(({ first, last }) => [first, last])).toEqual([
      [1, 3],
      [4, 6],
      [7, 7],
    ]);
  });

  it('before it is larger than it may be', async () => {
    const writer = bench.newWriter({ segmentMaxBytes: 1000 });
    for (let line = 0; line < 20; line += 1) append(writer, `${'x'.repeat(99)}\n`);
    await writer.close();
    const found = bench.checkedSegments();
    expect(found.length).toBeGreaterThan(2);
    for (const { bytes } of found) expect(bytes.length).toBeLessThanOrEqual(1000);
  });

  it('with one entry in it that is larger than a segment may be', async () => {
    const writer = bench.newWriter({ segmentMaxBytes: 1000 });
    append(writer, 'a\n');
    append(writer, `b\n${'x'.repeat(5000)}\nc\n`);
    await writer.close();
    const found = bench.checkedSegments();
    expect(found.map(({ bytes }) => bytes.length > 1000)).toEqual([false, true, false]);
  });

  it('by the timer, and nothing is written meanwhile', async () => {
    const writer = bench.newWriter();
    append(writer, 'a\n');
    await vi.advanceTimersByTimeAsync(2);
    expect(bench.segments().map(({ state }) => state)).toEqual(['sealed']);
    append(writer, 'b\n');
    bench.clock.nowMs += 1;
    await vi.advanceTimersByTimeAsync(100);
    expect(bench.checkedSegments().map(({ state }) => state)).toEqual(['sealed', 'sealed']);
    await writer.close();
    expect(bench.sealed).toBe(2);
  });

  it('behind the back of the next one, in order', async () => {
    const writer = bench.newWriter({ segmentMaxEntries: 1 });
    for (const line of ['a\n', 'b\n', 'c\n']) append(writer, line);
    expect(bench.segments().map(({ state }) => state)).toEqual(['open', 'open', 'open']);
    await writer.close();
    const renames = bench.disk.trace
      .filter(({ kind }) => kind === 'rename')
      .map(({ path }) => path);
    expect(renames).toEqual([...renames].sort());
    expect(renames).toHaveLength(3);
  });

  it('with its bytes and its name on the platter after each entry, if asked for', () => {
    const writer = bench.newWriter({ fsync: 'always' });
    append(writer, 'a\n');
    append(writer, 'b\n');
    const kinds = bench.disk.trace.map(({ kind }) => kind);
    expect(kinds).toEqual([
      'create',
      'append',
      'datasyncNow',
      'syncDirectoryNow',
      'append',
      'datasyncNow',
    ]);
  });
});

describe('a slow disk', () => {
  it('shows as pressure once eight segments wait for their seal, and no earlier', async () => {
    const writer = bench.newWriter({ segmentMaxEntries: 1 });
    for (let line = 0; line < 7; line += 1) {
      append(writer, 'a\n');
      expect(writer.pressure()).toBeUndefined();
    }
    append(writer, 'a\n');
    const pressure = writer.pressure();
    expect(pressure).toBeInstanceOf(Promise);
    await pressure;
    expect(writer.pressure()).toBeUndefined();
    expect(bench.segments().map(({ state }) => state)).toEqual(Array(8).fill('sealed'));
  });
});

describe('a frame', () => {
  it('is never longer than a reader takes, however large segments may be', async () => {
    const writer = bench.newWriter({ segmentMaxBytes: 64 * 1024 * 1024 });
    const line = Buffer.alloc(MAX_BODY_BYTES, 'x');
    append(writer, Buffer.concat([line, Buffer.from('\nb\n')]).subarray(1));
    await writer.close();
    expect(bench.checkedSegments()[0]?.frames.map(({ len }) => len)).toEqual([MAX_BODY_BYTES, 2]);
    expect(bench.troubles).toEqual([]);
  });

  it('has a time that never goes back, whatever the clock does', async () => {
    const writer = bench.newWriter();
    const yearMs = 365 * 24 * 3600 * 1000;
    for (const stepMs of [0, -yearMs, 5, 2 * yearMs, -yearMs]) {
      bench.clock.nowMs += stepMs;
      append(writer, 'x\n');
    }
    await writer.close();
    const times = bench.checkedSegments().flatMap(({ frames }) => frames.map(({ t }) => BigInt(t)));
    expect(times).toHaveLength(5);
    expect(times.every((time, index) => index === 0 || time >= times[index - 1]!)).toBe(true);
  });
});

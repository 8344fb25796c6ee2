import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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

describe('a full disk', () => {
  it('costs what does not fit, and the gap entry that counts it comes first', async () => {
    const writer = bench.newWriter();
    append(writer, 'a\n');
    bench.disk.roomBytes = 50;
    append(writer, 'lost\nlost too\n');
    bench.disk.roomBytes = Infinity;
    append(writer, 'b\n');
    await writer.close();
    expect(bytesIn(bench.checkedSegments()).toString()).toBe('a\nb\n');
    expect(bench.gaps()).toEqual(['2 14 disk-full']);
    expect(
      bench.segments().flatMap(({ frames }) => frames.map(({ gap }) => gap !== undefined)),
    ).toEqual([false, true, false]);
    expect(bench.troubles).toMatchObject([
      { kind: 'dropped', gap: { entries: 2, bytes: 14, why: 'disk-full' } },
    ]);
    expect(writer.totals()).toMatchObject({ last: 3, bytes: 4 });
    expect(writer.gaps).toBe(1);
  });

  it('makes one gap entry of a run of losses', async () => {
    const writer = bench.newWriter();
    bench.disk.roomBytes = 0;
    for (let line = 0; line < 100; line += 1) append(writer, 'lost\n');
    bench.disk.roomBytes = Infinity;
    append(writer, 'a\n');
    await writer.close();
    expect(bench.gaps()).toEqual(['100 500 disk-full']);
    expect(bench.troubles).toHaveLength(100);
    expect(bytesIn(bench.checkedSegments()).toString()).toBe('a\n');
  });

  it('makes one gap entry of each run of losses', async () => {
    const writer = bench.newWriter();
    for (const room of [0, Infinity, 0, 0, Infinity]) {
      bench.disk.roomBytes = room;
      append(writer, 'x\n');
    }
    await writer.close();
    expect(bench.gaps()).toEqual(['1 2 disk-full', '2 4 disk-full']);
    bench.checkedSegments();
  });

  it.each([1, 30, 90, 100, 150, 200])(
    'with room for %d bytes of the next entries costs whole ones, and never a second file',
    async (room) => {
      const writer = bench.newWriter();
      bench.disk.roomBytes = room;
      append(writer, 'first\n');
      append(writer, 'second\n');
      bench.disk.roomBytes = Infinity;
      append(writer, 'third\n');
      await writer.close();
      const [segment, ...others] = bench.checkedSegments();
      expect(others).toEqual([]);
      const kept = bytesIn([segment!]).toString();
      const lost = bench.troubles.length;
      expect(['first\nsecond\nthird\n', 'first\nthird\n', 'third\n'][lost]).toBe(kept);
    },
  );

  it('that stays full to the end leaves a stream without entries and without files', async () => {
    const writer = bench.newWriter();
    bench.disk.roomBytes = 10;
    append(writer, 'lost\n');
    await writer.close();
    expect(bench.disk.files()).toEqual([]);
    expect(bench.disk.openFiles).toBe(0);
    expect(writer.totals()).toMatchObject({ last: 0, bytes: 0 });
  });

  it('has the losses at the end counted by a gap entry too', async () => {
    const writer = bench.newWriter();
    append(writer, 'a\n');
    bench.disk.roomBytes = 0;
    append(writer, 'lost\n');
    bench.disk.roomBytes = Infinity;
    await writer.close();
    expect(bench.gaps()).toEqual(['1 5 disk-full']);
    expect(bench.checkedSegments().at(-1)?.last).toBe(2);
  });

  it('leaves a gap entry that fits the bounds of its segment', async () => {
    const writer = bench.newWriter({ segmentMaxEntries: 1 });
    bench.disk.roomBytes = 0;
    append(writer, 'lost\n');
    bench.disk.roomBytes = Infinity;
    append(writer, 'a\nb\n');
    await writer.close();
    expect(bench.checkedSegments().map(({ first, last }) => [first, last])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(bench.gaps()).toEqual(['1 5 disk-full']);
  });
});

describe('a failing disk', () => {
  it.each([
    ['ENOSPC', 'disk-full'],
    ['EDQUOT', 'disk-full'],
    ['EIO', 'io-error'],
    ['EROFS', 'io-error'],
    ['EINTR', 'io-error'],
  ])('is told apart in the gap entry: %s is %s', async (code, why) => {
    const writer = bench.newWriter();
    bench.disk.faultOf = () => ({ code });
    append(writer, 'lost\n');
    bench.disk.faultOf = () => undefined;
    append(writer, 'a\n');
    await writer.close();
    expect(bench.gaps()).toEqual([`1 5 ${why}`]);
  });

  it('costs one entry when one operation fails, whichever it is', async () => {
    for (const writtenBytes of [0, 1, 50, 1000]) {
      for (let failing = 1; failing <= 4; failing += 1) {
        bench = await newBench();
        const writer = bench.newWriter();
        bench.disk.faultOf = ({ number }) =>
          number === failing ? { code: 'EIO', writtenBytes } : undefined;
        for (const line of ['1\n', '2\n', '3\n']) append(writer, line);
        bench.disk.faultOf = () => undefined;
        await writer.close();
        const lost = [1, 1, 2, 3][failing - 1]!;
        const kept = ['1\n', '2\n', '3\n'].filter((_, index) => index !== lost - 1).join('');
        expect(bytesIn(bench.checkedSegments()).toString()).toBe(kept);
        expect(bench.gaps()).toEqual(['1 2 io-error']);
        expect(bench.disk.openFiles).toBe(0);
      }
    }
  });

  it('that cannot cut a torn tail loses entries, and writes none behind it', async () => {
    const writer = bench.newWriter();
    append(writer, 'a\n');
    bench.disk.faultOf = ({ kind }) =>
      kind === 'append' || kind === 'truncateNow' ? { code: 'EIO', writtenBytes: 9 } : undefined;
    append(writer, 'lost\n');
    append(writer, 'lost\n');
    expect(bench.segments()[0]?.end.kind).toBe('torn');
    bench.disk.faultOf = () => undefined;
    append(writer, 'b\n');
    await writer.close();
    expect(bytesIn(bench.checkedSegments()).toString()).toBe('a\nb\n');
    expect(bench.gaps()).toEqual(['2 10 io-error']);
  });

  it('has the torn tail cut when the segment is sealed', async () => {
    const writer = bench.newWriter();
    append(writer, 'a\n');
    bench.disk.faultOf = ({ kind }) =>
      kind === 'append' ? { code: 'EIO', writtenBytes: 9 } : undefined;
    append(writer, 'lost\n');
    await vi.advanceTimersByTimeAsync(100);
    expect(bench.checkedSegments().map(({ state, last }) => [state, last])).toEqual([
      ['sealed', 1],
    ]);
    await writer.close();
  });

  it.each(['datasync', 'rename'])(
    'leaves the segment open when the %s of its seal fails, and goes on with the next',
    async (kind) => {
      const writer = bench.newWriter({ segmentMaxEntries: 1 });
      bench.disk.faultOf = (operation) =>
        operation.kind === kind && operation.path.includes('1.open') ? { code: 'EIO' } : undefined;
      append(writer, 'a\n');
      append(writer, 'b\n');
      await writer.close();
      expect(bench.checkedSegments().map(({ state }) => state)).toEqual(['open', 'sealed']);
      expect(bench.troubles).toMatchObject([
        { kind: 'seal-failed', stream: 'stdout', error: { code: 'EIO' } },
      ]);
      expect(bench.sealed).toBe(1);
      expect(bench.disk.openFiles).toBe(0);
      expect(writer.totals()).toMatchObject({ last: 2, bytes: 4 });
    },
  );

  it.each([
    [4, 'syncDirectoryNow'],
    [6, 'datasyncNow'],
  ])('ends a file whose sync failed: only recovery seals it (%d, %s)', async (failing, kind) => {
    const writer = bench.newWriter({ fsync: 'always' });
    bench.disk.faultOf = ({ number }) => (number === failing ? { code: 'EIO' } : undefined);
    append(writer, 'a\n');
    append(writer, 'b\n');
    expect(bench.disk.trace[failing - 1]?.kind).toBe(kind);
    append(writer, 'c\n');
    await writer.close();
    const last = failing === 4 ? 1 : 2;
    expect(bench.checkedSegments().map(({ state, first, last }) => [state, first, last])).toEqual([
      ['open', 1, last],
      ['sealed', last + 1, 3],
    ]);
    expect(bench.troubles).toMatchObject([{ kind: 'seal-failed' }]);
    expect(bench.gaps()).toEqual([]);
    expect(writer.totals()).toMatchObject({ last: 3, bytes: 6 });
    expect(bench.disk.openFiles).toBe(0);
  });
});

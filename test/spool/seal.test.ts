import { describe, expect, it } from 'vitest';
import { sealSegment, type ClosedSegment } from '../../src/spool/seal.js';
import { withCode } from '../support/file-system-suite.js';
import { framesOf } from '../support/frames.js';
import type { SimulatedDisk } from '../support/simulated-disk.js';
import { DIRECTORY, diskWithRun, segmentsOf } from '../support/simulated-run.js';

const FRAMES = framesOf(['a\n', 'b\nc\n']);

/** A segment of three entries, ready to be sealed, and perhaps something behind them. */
async function closedOn(disk: SimulatedDisk, tail = ''): Promise<ClosedSegment> {
  const file = disk.create(`${DIRECTORY}/stdout-000000000001.open`);
  file.append([FRAMES, Buffer.from(tail)]);
  const hasTornTail = tail !== '';
  return { stream: 'stdout', file, first: 1, entries: 3, bytes: FRAMES.length, hasTornTail };
}

async function linesOf(fsync: 'always' | 'segment' | 'never', tail = ''): Promise<string[]> {
  const disk = await diskWithRun();
  const closed = await closedOn(disk, tail);
  const before = disk.lines.length;
  await sealSegment(disk, DIRECTORY, closed, fsync);
  return disk.lines.slice(before).map((line) => line.replace(DIRECTORY, '').trim());
}

describe('a seal', () => {
  it('syncs the bytes, renames once, and syncs the directory, in this order', async () => {
    const expected = [
      'datasync /stdout-000000000001.open',
      'rename /stdout-000000000001.open',
      'syncDirectory',
    ];
    expect(await linesOf('segment')).toEqual(expected);
    expect(await linesOf('always')).toEqual(expected);
  });

  it('syncs nothing when nobody asked for it', async () => {
    expect(await linesOf('never')).toEqual(['rename /stdout-000000000001.open']);
  });

  it('cuts a torn tail first', async () => {
    expect(await linesOf('never', '{"v":1')).toEqual([
      'truncate /stdout-000000000001.open',
      'rename /stdout-000000000001.open',
    ]);
  });

  it('leaves a file that its name describes, closed', async () => {
    const disk = await diskWithRun();
    await sealSegment(disk, DIRECTORY, await closedOn(disk, '{"v":1'), 'segment');
    const [segment] = segmentsOf(disk, 'stdout');
    expect(segment?.name).toBe('stdout-000000000001-000000000003.seg');
    expect(segment?.bytes).toEqual(FRAMES);
    expect(disk.openFiles).toBe(0);
  });

  it('of a segment without entries removes the file', async () => {
    const disk = await diskWithRun();
    const closed = { ...(await closedOn(disk)), entries: 0, bytes: 0, hasTornTail: true };
    await sealSegment(disk, DIRECTORY, closed, 'segment');
    expect(disk.files()).toEqual([]);
    expect(disk.openFiles).toBe(0);
  });

  it.each(['truncate', 'datasync', 'rename'])(
    'that fails at its %s leaves the open file with every frame, closed',
    async (kind) => {
      const disk = await diskWithRun();
      const closed = await closedOn(disk, 'torn');
      disk.faultOf = (operation) => (operation.kind === kind ? { code: 'EIO' } : undefined);
      const sealing = sealSegment(disk, DIRECTORY, closed, 'segment');
      await expect(sealing).rejects.toThrow(withCode('EIO'));
      const [segment] = segmentsOf(disk, 'stdout');
      expect(segment?.state).toBe('open');
      expect(segment?.last).toBe(3);
      expect(disk.openFiles).toBe(0);
    },
  );
});

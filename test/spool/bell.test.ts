import { describe, expect, it } from 'vitest';
import { hangBell, removeBell, ringBell } from '../../src/spool/bell.js';
import { withCode } from '../support/file-system-suite.js';
import { diskWithRun, LAYOUT, RUN_ID } from '../support/simulated-run.js';

const PATH = `${LAYOUT.wake}/${RUN_ID}`;

describe('a bell', () => {
  it('changes at each ring, and does not grow', async () => {
    const disk = await diskWithRun();
    await hangBell(disk, LAYOUT, RUN_ID);
    for (let ring = 0; ring < 3; ring += 1) {
      const before = disk.trace.length;
      await ringBell(disk, LAYOUT, RUN_ID);
      expect(disk.lines.slice(before)).toContain(`append ${PATH}`);
      expect(disk.bytesOf(PATH)).toHaveLength(1);
    }
    expect(disk.openFiles).toBe(0);
  });

  it('that is rung late, when the run is gone, leaves nothing behind', async () => {
    const disk = await diskWithRun();
    await hangBell(disk, LAYOUT, RUN_ID);
    await removeBell(disk, LAYOUT, RUN_ID);
    await expect(ringBell(disk, LAYOUT, RUN_ID)).rejects.toThrow(withCode('ENOENT'));
    expect(disk.files()).toEqual([]);
    await removeBell(disk, LAYOUT, RUN_ID);
  });

  it('is let go of when the disk is full', async () => {
    const disk = await diskWithRun();
    await hangBell(disk, LAYOUT, RUN_ID);
    disk.roomBytes = 0;
    await expect(ringBell(disk, LAYOUT, RUN_ID)).rejects.toThrow(withCode('ENOSPC'));
    expect(disk.openFiles).toBe(0);
  });
});

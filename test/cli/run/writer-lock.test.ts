import { mkdirSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { holdWriterLock } from '../../../src/cli/run/writer-lock.js';
import { runDirectory, spoolLayout, writerLockPath } from '../../../src/spool/layout.js';
import { lockOwner } from '../../../src/spool/lock.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const ID = '01J00000000000000000000000';

describe('holdWriterLock', () => {
  it('holds the lock of the run until it is released', async () => {
    const layout = spoolLayout(temporaryDirectory());
    const directory = runDirectory(layout, ID);
    mkdirSync(directory, { recursive: true });
    const lock = holdWriterLock(layout, ID, (line) => {
      throw new Error(line);
    });
    await expect.poll(() => lockOwner(writerLockPath(directory))?.pid).toBe(process.pid);
    await lock.release();
    expect(lockOwner(writerLockPath(directory))).toBeUndefined();
  });

  it('says that it goes on without the lock where it cannot be taken', async () => {
    const layout = spoolLayout(temporaryDirectory());
    const lines: string[] = [];
    const lock = holdWriterLock(layout, ID, (line) => lines.push(line));
    await lock.release();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^shipper: cannot lock the run .*; going on without the lock$/);
    rmSync(layout.root, { recursive: true, force: true });
  });
});

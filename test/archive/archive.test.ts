import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Archive } from '../../src/archive/archive.js';
import { newRunId } from '../../src/core/run-id.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { scanFrames } from '../../src/frames/scan.js';
import { silentLogger } from '../../src/telemetry/log.js';
import { frameOf } from '../support/frames.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const parts = { fs: nodeFileSystem, log: silentLogger };

describe('Archive', () => {
  it('creates its directory, for its owner alone', async () => {
    const dir = join(temporaryDirectory(), 'a', 'b');
    await (await Archive.open(dir, parts)).close();
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  it('says why its directory cannot be used', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    await expect(Archive.open(join(file, 'x'), parts)).rejects.toMatchObject({
      code: 'archive-unusable',
      hint: 'choose a directory that you may write to',
    });
  });

  it('keeps a bounded number of files open, however many runs it serves', async () => {
    const archive = await Archive.open(temporaryDirectory(), parts);
    const before = readdirSync('/proc/self/fd').length;
    const bytes = frameOf(1, 'hello\n');
    const { frames } = scanFrames(bytes);
    const ids = Array.from({ length: 200 }, () => newRunId(0));
    for (const id of ids) {
      const range = { first: 1, last: 1, epoch: 1, bytes, frames };
      await archive.withNewRun(id, (run) => run.append('stdout', range));
    }
    expect(readdirSync('/proc/self/fd').length - before).toBeLessThanOrEqual(2 * 64);
    for (const id of ids) {
      expect(await archive.withRun(id, async (run) => run?.mark('stdout'))).toBe(1);
    }
    await archive.close();
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });

  it('finds a run that was created after it was missed', async () => {
    const dir = temporaryDirectory();
    const archive = await Archive.open(dir, parts);
    const id = newRunId(0);
    const isThere = (): Promise<boolean> =>
      archive.withRun(id, (run) => Promise.resolve(run !== undefined));
    expect(await isThere()).toBe(false);
    mkdirSync(join(dir, id));
    expect(await isThere()).toBe(true);
    await archive.close();
  });

  it('waits with its end for the work under way', async () => {
    const archive = await Archive.open(temporaryDirectory(), parts);
    const order: string[] = [];
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const working = archive.withNewRun(newRunId(0), async () => {
      await gate;
      order.push('work');
    });
    const closing = archive.close().then(() => order.push('closed'));
    release();
    await Promise.all([working, closing]);
    expect(order).toEqual(['work', 'closed']);
  });
});

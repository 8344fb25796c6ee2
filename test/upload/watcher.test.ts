import { mkdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newRunId } from '../../src/core/run-id.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { hangBell, ringBell } from '../../src/spool/bell.js';
import { spoolLayout } from '../../src/spool/layout.js';
import { watchBells } from '../../src/upload/watcher.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const PATIENT = { timeout: 30_000 };

describe('watchBells', () => {
  it('hears the bell of any run, and of one run alone when that is asked for', async () => {
    const layout = spoolLayout(temporaryDirectory());
    mkdirSync(layout.wake);
    const [ours, other] = [newRunId(0), newRunId(1)];
    for (const id of [ours, other]) await hangBell(nodeFileSystem, layout, id);
    const heard = { all: 0, ours: 0 };
    const watchers = [
      watchBells(layout, undefined, () => (heard.all += 1)),
      watchBells(layout, ours, () => (heard.ours += 1)),
    ];
    onTestFinished(async () => {
      await Promise.all(watchers.map((watcher) => watcher.close()));
    });
    // Watching begins some time after it was asked for: rings before that are for the rescan.
    await expect
      .poll(async () => {
        await ringBell(nodeFileSystem, layout, ours);
        return heard.all > 0 && heard.ours > 0;
      }, PATIENT)
      .toBe(true);
    const before = { ...heard };
    await expect
      .poll(async () => {
        await ringBell(nodeFileSystem, layout, other);
        return heard.all;
      }, PATIENT)
      .toBeGreaterThan(before.all + 2);
  });

  it('is content without a folder to watch', async () => {
    const watcher = watchBells(spoolLayout('/nonexistent'), undefined, () => undefined);
    await watcher.close();
    expect(watcher).toBeDefined();
  });
});

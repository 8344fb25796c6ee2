import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
    const heard = { all: [] as string[], ours: [] as string[] };
    const watchers = [
      watchBells(layout, undefined, (id) => heard.all.push(id)),
      watchBells(layout, ours, (id) => heard.ours.push(id)),
    ];
    onTestFinished(async () => {
      await Promise.all(watchers.map((watcher) => watcher.close()));
    });
    // Watching begins some time after it was asked for: rings before that are for the rescan.
    await expect
      .poll(async () => {
        for (const id of [other, ours]) await ringBell(nodeFileSystem, layout, id);
        return heard.all.includes(other) && heard.ours.includes(ours);
      }, PATIENT)
      .toBe(true);
    expect(new Set(heard.all)).toEqual(new Set([ours, other]));
    expect(new Set(heard.ours)).toEqual(new Set([ours]));
  });

  it('rings for a run that is new, and not for a foreign file', async () => {
    const layout = spoolLayout(temporaryDirectory());
    mkdirSync(layout.wake);
    const heard: string[] = [];
    const watcher = watchBells(layout, undefined, (id) => heard.push(id));
    onTestFinished(() => watcher.close());
    let count = 0;
    await expect
      .poll(async () => {
        writeFileSync(join(layout.wake, 'foreign'), String(count));
        await hangBell(nodeFileSystem, layout, newRunId(count++));
        return heard.length;
      }, PATIENT)
      .toBeGreaterThan(0);
    expect(heard).not.toContain('foreign');
  });

  it('is content without a folder to watch', async () => {
    const watcher = watchBells(spoolLayout('/nonexistent'), undefined, () => undefined);
    await watcher.close();
    expect(watcher).toBeDefined();
  });
});

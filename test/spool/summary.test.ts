import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { newRunId } from '../../src/core/run-id.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { spoolLayout } from '../../src/spool/layout.js';
import { summarizeSpool, type SpoolSummary } from '../../src/spool/summary.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function summaryOf(spool: string): Promise<SpoolSummary> {
  return summarizeSpool(nodeFileSystem, systemClock, spoolLayout(spool));
}

describe('summarizeSpool', () => {
  it('adds up all runs', async () => {
    const spool = temporaryDirectory();
    const runs = [new PreparedRun(spool), new PreparedRun(spool, { exit: { code: 1 } })];
    for (const run of runs) {
      run.sealed('stdout', ['a\n', 'b\n'], 1_000_000n);
      await run.record();
    }
    const { totals, runs: found } = await summaryOf(spool);
    expect(found.map(({ record }) => record.id)).toEqual(runs.map(({ id }) => id).sort());
    expect(totals).toMatchObject({ runs: 2, pendingEntries: 4, segments: 2, uncountedBytes: 0 });
    expect(totals.pendingBytes).toBe(found.reduce((sum, run) => sum + run.pendingBytes, 0));
    expect(totals.oldestPendingAgeMs).toBeGreaterThan(1e12);
  });

  it('is empty where there is no spool', async () => {
    const { runs, totals } = await summaryOf(join(temporaryDirectory(), 'none'));
    expect(runs).toEqual([]);
    expect(totals).toEqual({
      runs: 0,
      pendingEntries: 0,
      uncountedBytes: 0,
      pendingBytes: 0,
      segments: 0,
      oldestPendingAgeMs: null,
    });
  });

  it('counts what is not ours at every level, and no unfinished run', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool);
    run.file('notes.txt', 'x');
    await run.record();
    writeFileSync(join(spool, 'README'), 'x');
    writeFileSync(join(spool, 'runs', 'not-a-run'), 'x');
    mkdirSync(join(spool, 'runs', `${newRunId(0)}.tmp`));
    mkdirSync(join(spool, 'damaged'));
    expect((await summaryOf(spool)).foreignFiles).toBe(3);
  });

  it('shows the other runs when one cannot be read', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool);
    await run.record();
    const id = newRunId(0);
    writeFileSync(join(spool, 'runs', id), 'a file with the name of a run');
    const { runs, unreadable } = await summaryOf(spool);
    expect(runs.map(({ record }) => record.id)).toEqual([run.id]);
    expect(unreadable).toEqual([{ id, reason: expect.stringContaining('ENOTDIR') as string }]);
  });

  it('opens none of the segments that wait behind the oldest', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool);
    for (let index = 0; index < 50; index += 1) run.sealed('stdout', ['a\n']);
    await run.record();
    const opened: string[] = [];
    const fs = {
      ...nodeFileSystem,
      openRead: (path: string) => {
        opened.push(path);
        return nodeFileSystem.openRead(path);
      },
    };
    const { totals } = await summarizeSpool(fs, systemClock, spoolLayout(spool));
    expect(totals.segments).toBe(50);
    expect(opened).toEqual([join(run.directory, 'stdout-000000000001-000000000001.seg')]);
  });
});

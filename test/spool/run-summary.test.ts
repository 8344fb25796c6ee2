import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { acquireLock } from '../../src/spool/lock.js';
import { ownIdentity } from '../../src/spool/process-identity.js';
import { summarizeRun, type RunSummary } from '../../src/spool/run-summary.js';
import { deadIdentity, PreparedRun } from '../support/prepared-spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const NOW_MS = 1_764_547_200_000;

const clock: Clock = {
  wallMs: () => NOW_MS,
  wallNs: () => BigInt(NOW_MS) * 1_000_000n,
  monotonicMs: () => 0,
};

async function summaryOf(run: PreparedRun): Promise<RunSummary> {
  const context = { fs: nodeFileSystem, clock, scanBudget: { bytes: 1e6 } };
  return (await summarizeRun(context, run.directory, run.id))!;
}

function secondsAgo(seconds: number): string {
  return new Date(NOW_MS - seconds * 1000).toISOString();
}

describe('summarizeRun', () => {
  it('tells what is pending from names, sizes and marks', async () => {
    const run = new PreparedRun(temporaryDirectory(), { destinations: ['dir:/a', 'dir:/b'] });
    const fiveSecondsAgo = BigInt(NOW_MS - 5000) * 1_000_000n;
    run.sealed('stdout', ['a\n', 'b\n'], fiveSecondsAgo);
    run.sealed('stdout', ['c\n']);
    run.open('stderr', ['x\n']);
    await run.record();
    await run.marks({
      'dir:/a': { marks: { stdout: 3 }, lastAckAt: secondsAgo(2), lastError: null },
      'dir:/b': { marks: { stdout: 1 }, lastAckAt: null, lastError: 'the disk is full' },
    });
    const summary = await summaryOf(run);
    expect(summary).toMatchObject({
      pendingEntries: 3,
      uncountedBytes: 0,
      segments: 3,
      oldestPendingAgeMs: 5000,
      destinations: [
        { id: 'dir:/a', pendingEntries: 1, lastAckAgeMs: 2000, lastError: null },
        { id: 'dir:/b', pendingEntries: 3, lastAckAgeMs: null, lastError: 'the disk is full' },
      ],
      problem: null,
      foreignFiles: 0,
    });
  });

  it('shows a destination that only the marks know', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.sealed('stdout', ['a\n']);
    await run.record();
    await run.marks({ 'dir:/by-drain': { finished: false } });
    expect((await summaryOf(run)).destinations.map(({ id }) => id)).toEqual(['dir:/by-drain']);
  });

  it('shows no negative age when the clock was set back', async () => {
    const run = new PreparedRun(temporaryDirectory(), { destinations: ['dir:/a'] });
    run.sealed('stdout', ['a\n'], BigInt(NOW_MS + 60_000) * 1_000_000n);
    await run.record();
    await run.marks({ 'dir:/a': { lastAckAt: secondsAgo(-60) } });
    const summary = await summaryOf(run);
    expect(summary.oldestPendingAgeMs).toBe(0);
    expect(summary.destinations[0]?.lastAckAgeMs).toBe(0);
  });

  it.each([
    ['ended', { exit: { code: 0 } }],
    ['live', { writer: ownIdentity() }],
    ['dead', { writer: deadIdentity() }],
    ['unknown', { writer: { ...ownIdentity(), host: 'another' } }],
    ['dead', { writer: null }],
  ] as const)('calls a run %s when its record says %j', async (state, settings) => {
    const run = new PreparedRun(temporaryDirectory(), settings);
    await run.record();
    expect((await summaryOf(run)).state).toBe(state);
  });

  it('judges a run with a damaged record by the lock of its writer', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.file('run.json', '{"v":1,');
    expect((await summaryOf(run)).state).toBe('dead');
    const attempt = await acquireLock(join(run.directory, 'writer.lock'), () => undefined);
    expect((await summaryOf(run)).state).toBe('live');
    if (attempt.kind === 'acquired') await attempt.lock.release();
  });

  it('shows a run with a damaged or missing record, and why', async () => {
    const damaged = new PreparedRun(temporaryDirectory());
    damaged.file('run.json', 'garbage');
    const missing = new PreparedRun(temporaryDirectory());
    missing.sealed('stdout', ['a\n']);
    expect((await summaryOf(damaged)).problem).toBe('run.json is damaged');
    expect(await summaryOf(missing)).toMatchObject({
      problem: 'run.json is missing',
      pendingEntries: 1,
    });
  });

  it('counts files that are not ours, and leaves them alone', async () => {
    const run = new PreparedRun(temporaryDirectory());
    run.file('notes.txt', 'x');
    run.file('stdout-1-2.seg', 'x');
    await run.record();
    expect(await summaryOf(run)).toMatchObject({ foreignFiles: 2, segments: 0 });
  });

  it('names the uploader that works on the run', async () => {
    const run = new PreparedRun(temporaryDirectory());
    await run.record();
    const attempt = await acquireLock(join(run.directory, 'uploader.lock'), () => undefined);
    expect((await summaryOf(run)).uploaderPid).toBe(process.pid);
    if (attempt.kind === 'acquired') await attempt.lock.release();
    expect((await summaryOf(run)).uploaderPid).toBeNull();
  });

  it('is nothing for a run that is gone, or the rest of one', async () => {
    const run = new PreparedRun(temporaryDirectory());
    const context = { fs: nodeFileSystem, clock, scanBudget: { bytes: 0 } };
    expect(await summarizeRun(context, run.directory, run.id)).toBeUndefined();
    expect(await summarizeRun(context, `${run.directory}-gone`, run.id)).toBeUndefined();
  });
});

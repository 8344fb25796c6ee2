import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StatusDocument } from '../../src/cli/render/status-json.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { shipper, startShipper } from '../support/shipper.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

async function statusJson(spool: string): Promise<StatusDocument> {
  const { code, stdout } = await shipper(['status', '--json', '--spool', spool]);
  expect(code).toBe(0);
  return JSON.parse(stdout.toString()) as StatusDocument;
}

async function statusText(spool: string): Promise<string> {
  const { code, stdout, stderr } = await shipper(['status', '--spool', spool]);
  expect(stderr.toString()).toBe('');
  expect(code).toBe(0);
  return stdout.toString();
}

describe('shipper status', () => {
  it('shows a run while it is live, and then its end', async () => {
    const spool = temporaryDirectory();
    const run = startShipper(
      ['run', '--spool', spool, '--name', 'live-one', '--', 'sh', '-c', 'echo a; echo b; read x'],
      { stdio: ['pipe', 'pipe', 'pipe'] },
    );
    await run.untilStdout(/b\n/);
    await expect.poll(async () => (await statusJson(spool)).totals.pendingEntries).toBe(2);
    const [live] = (await statusJson(spool)).runs;
    expect(live).toMatchObject({ name: 'live-one', state: 'live', exit: null, problem: null });
    expect(live!.oldestPendingAgeMs).toBeGreaterThanOrEqual(0);
    run.child.stdin?.end('\n');
    await run.finished;
    const [ended] = (await statusJson(spool)).runs;
    expect(ended).toMatchObject({ id: live!.id, state: 'ended', exit: { code: 0 }, segments: 1 });
  });

  it('shows the run of a wrapper that was killed, and what to do', async () => {
    const spool = temporaryDirectory();
    const run = startShipper(['run', '--spool', spool, '--', 'sh', '-c', 'echo a; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await run.untilStdout(/a\n/);
    await expect.poll(async () => (await statusJson(spool)).totals.pendingEntries).toBe(1);
    await run.stop('SIGKILL');
    const text = await statusText(spool);
    expect(text).toMatch(/ dead +1 /);
    expect(text).toContain('dead: wrapper gone; shipper drain delivers it');
  });

  it('counts what a killed wrapper has left unsealed', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool);
    run.sealed('stdout', ['a\n', 'b\n']);
    run.open('stdout', ['c\n'], '{"v":1,"seq":4,"n"');
    await run.record();
    const { totals } = await statusJson(spool);
    expect(totals).toMatchObject({ runs: 1, pendingEntries: 3, segments: 2 });
  });

  it('shows the destination, its last acknowledgement and its last error', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool, { destinations: ['dir:/a'], exit: { code: 0 } });
    run.sealed('stdout', ['a\n']);
    await run.record();
    await run.marks({
      'dir:/a': { lastAckAt: '2025-12-01T00:00:00.000Z', lastError: 'the disk is full' },
    });
    const text = await statusText(spool);
    expect(text).toMatch(/ \d+ d +dir:\/a$/m);
    expect(text).toContain('  last error from dir:/a: the disk is full');
  });

  it('shows a run whose run.json is damaged, and the others', async () => {
    const spool = temporaryDirectory();
    const damaged = new PreparedRun(spool);
    damaged.sealed('stdout', ['a\n']);
    damaged.file('run.json', '{"v":1,"id":');
    const intact = new PreparedRun(spool, { exit: { code: 0 } });
    intact.sealed('stdout', ['a\n']);
    await intact.record();
    const text = await statusText(spool);
    expect(text).toContain(damaged.id);
    expect(text).toContain('  run.json is damaged: its segments are delivered all the same');
    expect(text).toContain(intact.id);
  });

  it('counts foreign files, and leaves them alone', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    run.sealed('stdout', ['a\n']);
    run.file('notes.txt', 'mine');
    await run.record();
    writeFileSync(join(spool, 'README'), 'mine');
    expect(await statusText(spool)).toContain("2 files in it not shipper's: left alone");
    expect(readdirSync(run.directory)).toContain('notes.txt');
  });

  it('changes nothing in the spool', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool);
    run.open('stdout', ['a\n'], 'torn');
    await run.record();
    const before = readdirSync(spool, { recursive: true }).sort();
    await statusText(spool);
    expect(readdirSync(spool, { recursive: true }).sort()).toEqual(before);
  });

  it('says so when the spool is empty or missing, and creates none', async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'empty'));
    for (const name of ['empty', 'missing']) {
      const spool = join(root, name);
      expect(await statusText(spool)).toBe(`nothing in the spool ${spool}\n`);
    }
    expect(readdirSync(root)).toEqual(['empty']);
  });

  it('counts 20,000 segments by their names', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    for (let index = 0; index < 20_000; index += 1) run.sealed('stdout', ['x\n']);
    await run.record();
    const { totals } = await statusJson(spool);
    expect(totals).toMatchObject({ pendingEntries: 20_000, segments: 20_000 });
  });
});

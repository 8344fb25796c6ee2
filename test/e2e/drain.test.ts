import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DrainDocument } from '../../src/cli/render/drain.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { startReceiver } from '../support/receiver.js';
import { shipper, startShipper } from '../support/shipper.js';
import { runIds, runJson } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const ONE_LINE = /^shipper: [^\n]+; [^\n]+\n$/;

interface Places {
  readonly spool: string;
  readonly archive: string;
  /** `--spool` and `--to dir:` of these. */
  readonly args: readonly string[];
}

function places(): Places {
  const root = temporaryDirectory();
  const spool = join(root, 'spool');
  const archive = join(root, 'archive');
  return { spool, archive, args: ['--spool', spool, '--to', `dir:${archive}`] };
}

function archived(archive: string, run: PreparedRun, stream = 'stdout'): string {
  return readFileSync(join(archive, run.id, `${stream}.log`), 'utf8');
}

async function drainJson(...args: string[]): Promise<DrainDocument> {
  const { stdout } = await shipper(['drain', '--json', ...args]);
  return JSON.parse(stdout.toString()) as DrainDocument;
}

/** A loopback port on which nobody listens. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('shipper drain', () => {
  it('delivers every run to a directory, quietly, and leaves an empty spool', async () => {
    const { spool, archive, args } = places();
    const first = new PreparedRun(spool, { exit: { code: 0 } });
    first.sealed('stdout', ['a\n', 'b\n']);
    first.sealed('stdout', ['c\n']);
    first.sealed('stderr', ['x\n']);
    await first.record();
    const second = new PreparedRun(spool, { exit: { signal: 'SIGTERM' } });
    second.sealed('stdout', ['second, no newline']);
    await second.record();
    const { code, stdout, stderr } = await shipper(['drain', ...args]);
    expect(stderr.toString()).toBe('');
    expect(stdout.length).toBe(0);
    expect(code).toBe(0);
    expect(archived(archive, first)).toBe('a\nb\nc\n');
    expect(archived(archive, first, 'stderr')).toBe('x\n');
    expect(archived(archive, second)).toBe('second, no newline');
    expect(runJson(archive, second.id)).toMatchObject({ exit: { signal: 'SIGTERM' } });
    expect(runIds(spool)).toEqual([]);
  });

  it('delivers to a receiver where each run says', async () => {
    const { spool, archive } = places();
    const receiver = await startReceiver(archive);
    const run = new PreparedRun(spool, { destinations: [receiver.to], exit: { code: 3 } });
    run.sealed('stdout', ['a\n']);
    await run.record();
    expect((await shipper(['drain', '--spool', spool])).code).toBe(0);
    await receiver.stop();
    expect(archived(archive, run)).toBe('a\n');
    expect(runJson(archive, run.id)).toMatchObject({ exit: { code: 3 } });
  });

  it('recovers the run of a wrapper that was killed: whole entries, no torn one', async () => {
    const { spool, archive, args } = places();
    const run = new PreparedRun(spool);
    run.sealed('stdout', ['a\n']);
    run.open('stdout', ['b\n', 'c\n'], '{"v":1,"seq":4,"n":1,"t":"1');
    await run.record();
    expect((await shipper(['drain', ...args])).code).toBe(0);
    expect(archived(archive, run)).toBe('a\nb\nc\n');
    expect(runJson(archive, run.id)).toMatchObject({ exit: { unknown: true } });
    expect(runIds(spool)).toEqual([]);
  });

  it('delivers a run whose run.json is damaged, and says so', async () => {
    const { spool, archive, args } = places();
    const run = new PreparedRun(spool);
    run.sealed('stdout', ['a\n']);
    run.file('run.json', '{"v":1,"id":');
    const { code, stderr } = await shipper(['drain', ...args]);
    expect(archived(archive, run)).toBe('a\n');
    expect(stderr.toString()).toContain('run.json is damaged');
    expect(code).toBe(0);
  });

  it('leaves foreign files alone', async () => {
    const { spool, archive, args } = places();
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    run.sealed('stdout', ['a\n']);
    run.file('notes.txt', 'mine');
    await run.record();
    expect((await shipper(['drain', ...args])).code).toBe(0);
    expect(archived(archive, run)).toBe('a\n');
    expect(readdirSync(run.directory)).toEqual(['notes.txt']);
  });

  it('has nothing to do without a spool, and creates none', async () => {
    const { spool, args } = places();
    const { code, stderr } = await shipper(['drain', ...args]);
    expect(stderr.toString()).toBe(`shipper: nothing to deliver: there is no spool ${spool}\n`);
    expect(code).toBe(0);
    expect(existsSync(spool)).toBe(false);
  });

  it('has nothing to say about an empty spool', async () => {
    const { spool, args } = places();
    mkdirSync(spool);
    const { code, stderr } = await shipper(['drain', ...args]);
    expect(stderr.toString()).toBe('');
    expect(code).toBe(0);
  });

  it('sums up in one document with --json', async () => {
    const { spool, args } = places();
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    run.sealed('stdout', ['a\n', 'b\n']);
    await run.record();
    expect(await drainJson(...args)).toEqual({
      spool,
      end: 'done',
      deliveredEntries: 2,
      deliveredBytes: expect.any(Number) as number,
      requests: expect.any(Number) as number,
      retries: 0,
      leftRuns: 0,
      leftEntries: 0,
      leftBytes: 0,
      heldRuns: 0,
      ongoingRuns: 0,
      lastError: null,
    });
    expect(await drainJson('--spool', join(spool, 'none'))).toMatchObject({ end: 'done' });
  });

  it('keeps everything while the receiver is gone, and exits with 75', async () => {
    const { spool, archive, args } = places();
    const to = `shipper+http://127.0.0.1:${String(await deadPort())}`;
    const run = new PreparedRun(spool, { destinations: [to], exit: { code: 0 } });
    run.sealed('stdout', ['a\n', 'b\n']);
    await run.record();
    const limits = ['--spool', spool, '--stalled-after', '300ms'];
    const { code, stderr } = await shipper(['drain', ...limits]);
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toMatch(
      /: 2 entries \(\d+ B\) of 1 run not delivered: .*ECONNREFUSED/,
    );
    expect(code).toBe(75);
    expect(await drainJson(...limits, '--timeout', '200ms')).toMatchObject({
      end: 'timed-out',
      leftRuns: 1,
      leftEntries: 2,
      lastError: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect((await shipper(['drain', ...args])).code).toBe(0);
    expect(archived(archive, run)).toBe('a\nb\n');
  });

  it('keeps what nobody said where to deliver, and says what to do', async () => {
    const { spool } = places();
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    run.sealed('stdout', ['a\n']);
    await run.record();
    const { code, stderr } = await shipper(['drain', '--spool', spool]);
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toContain('--to <url>');
    expect(code).toBe(75);
    expect(runIds(spool)).toEqual([run.id]);
  });

  it('exits with 77 when the destination refuses the credentials', async () => {
    const { spool, archive } = places();
    const receiver = await startReceiver(archive, { environment: { SHIPPER_TOKEN: 'right' } });
    const run = new PreparedRun(spool, { destinations: [receiver.to], exit: { code: 0 } });
    run.sealed('stdout', ['a\n']);
    await run.record();
    const environment = { SHIPPER_TOKEN: 'wrong-token' };
    const refused = await shipper(['drain', '--spool', spool], { environment });
    expect(refused.code).toBe(77);
    expect(refused.stderr.toString()).not.toContain('wrong-token');
    const taken = await shipper(['drain', '--spool', spool], {
      environment: { SHIPPER_TOKEN: 'right' },
    });
    expect(taken.code).toBe(0);
    expect(archived(archive, run)).toBe('a\n');
  });

  it.each(['ftp://example.com', 'shipper+http://', 'nonsense'])(
    'refuses the destination %s',
    async (to) => {
      const { spool } = places();
      const run = new PreparedRun(spool, { exit: { code: 0 } });
      run.sealed('stdout', ['a\n']);
      await run.record();
      const { code, stderr } = await shipper(['drain', '--spool', spool, '--to', to]);
      expect(stderr.toString()).toMatch(ONE_LINE);
      expect(code).toBe(78);
      expect(runIds(spool)).toEqual([run.id]);
    },
  );

  it('leaves a run to its wrapper that delivers it now', async () => {
    const { spool, archive, args } = places();
    const wrapper = startShipper(['run', ...args, '--', 'sh', '-c', 'echo a; read x; echo b'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    await wrapper.untilStdout(/a\n/);
    const [id = ''] = runIds(spool);
    await expect.poll(() => existsSync(join(archive, id, 'stdout.log'))).toBe(true);
    const { code, stderr } = await shipper(['drain', '--spool', spool]);
    expect(stderr.toString()).toContain('1 run left to the process that delivers it now');
    expect(code).toBe(0);
    wrapper.child.stdin?.end('\n');
    expect((await wrapper.finished).code).toBe(0);
    expect(readFileSync(join(archive, id, 'stdout.log'), 'utf8')).toBe('a\nb\n');
  });

  it('ends soon after TERM, keeping what is not acknowledged', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    await new Promise((resolve) => silent.once('listening', resolve));
    const asked = new Promise((resolve) => silent.once('request', resolve));
    const { port } = silent.address() as AddressInfo;
    const { spool } = places();
    const to = `shipper+http://127.0.0.1:${String(port)}`;
    const run = new PreparedRun(spool, { destinations: [to], exit: { code: 0 } });
    run.sealed('stdout', ['a\n']);
    await run.record();
    const drain = startShipper(['drain', '--spool', spool]);
    await asked;
    const { code, stderr } = await drain.stop('SIGTERM');
    expect(stderr.toString()).toContain('it was told to stop');
    expect(code).toBe(75);
    expect(runIds(spool)).toEqual([run.id]);
  });
});

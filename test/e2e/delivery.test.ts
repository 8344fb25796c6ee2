import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { archivedBytes, archivedRuns } from '../support/archive.js';
import { startReceiver } from '../support/receiver.js';
import { NODE_PATH, shipper, startShipper } from '../support/shipper.js';
import { runIds, runJson, spooledBytes } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const NASTY = 'fixtures/programs/nasty-output.js';
const LINES = 'fixtures/programs/numbered-lines.js';

/** A limit for what hangs, not for what is slow. */
const PATIENT = { timeout: 30_000 };

/** What `numbered-lines.js` prints. */
function numberedLines(count: number): string {
  return Array.from({ length: count }, (_, i) => `line ${String(i + 1)} of the program\n`).join('');
}

function onlyRun(ids: readonly string[]): string {
  expect(ids).toHaveLength(1);
  return ids[0] ?? '';
}

/** `to` and `dir` of each kind of destination that counts what it gets. */
async function destination(kind: string): Promise<{ to: string; dir: string }> {
  const dir = temporaryDirectory();
  if (kind === 'dir') return { to: `dir:${dir}`, dir };
  const { to } = await startReceiver(dir);
  return { to, dir };
}

describe.each(['dir', 'shipper+http'])('delivery to %s', (kind) => {
  it('brings every byte of both streams, passes them on, leaves an empty spool', async () => {
    const spool = temporaryDirectory();
    const { to, dir } = await destination(kind);
    const truth = spawnSync(NODE_PATH, [NASTY], { maxBuffer: 1e8 });
    const result = await shipper(['run', '--spool', spool, '--to', to, '--', NODE_PATH, NASTY]);
    expect(result.code).toBe(0);
    expect(result.stdout.equals(truth.stdout)).toBe(true);
    expect(result.stderr.equals(truth.stderr)).toBe(true);
    const id = onlyRun(archivedRuns(dir));
    expect(archivedBytes(dir, id, 'stdout').equals(truth.stdout)).toBe(true);
    expect(archivedBytes(dir, id, 'stderr').equals(truth.stderr)).toBe(true);
    expect(runIds(spool)).toEqual([]);
  });

  it('confirms the end with totals and digests that the archive holds', async () => {
    const spool = temporaryDirectory();
    const { to, dir } = await destination(kind);
    const script = 'echo out; echo err >&2; printf tail; exit 3';
    const result = await shipper(['run', '--spool', spool, '--to', to, '--', 'sh', '-c', script]);
    expect(result.code).toBe(3);
    const id = onlyRun(archivedRuns(dir));
    const sha256 = (stream: string): string =>
      createHash('sha256')
        .update(archivedBytes(dir, id, stream))
        .digest('hex');
    expect(runJson(dir, id)).toMatchObject({
      id,
      command: ['sh', '-c', script],
      exit: { code: 3 },
      gaps: 0,
      streams: {
        stdout: { last: 2, bytes: 8, sha256: sha256('stdout') },
        stderr: { last: 1, bytes: 4, sha256: sha256('stderr') },
      },
    });
    expect(runJson(dir, id)['finishedAt']).toEqual(expect.any(String));
  });

  it('delivers a run that printed nothing', async () => {
    const spool = temporaryDirectory();
    const { to, dir } = await destination(kind);
    await shipper(['run', '--spool', spool, '--to', to, '--', 'true']);
    expect(runJson(dir, onlyRun(archivedRuns(dir)))).toMatchObject({
      exit: { code: 0 },
      streams: {},
    });
    expect(runIds(spool)).toEqual([]);
  });

  it('delivers a command that could not be started as a run that ended', async () => {
    const spool = temporaryDirectory();
    const { to, dir } = await destination(kind);
    const result = await shipper(['run', '--spool', spool, '--to', to, '--', 'no-such-command']);
    expect(result.code).toBe(127);
    expect(runJson(dir, onlyRun(archivedRuns(dir)))).toMatchObject({ exit: { code: 127 } });
  });
});

describe('delivery', () => {
  it('takes few requests for 10,000 lines of start-up, while the command runs', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const receiver = await startReceiver(dir);
    const script = `'${NODE_PATH}' ${LINES} 10000; read x`;
    const args = ['run', '--spool', spool, '--to', receiver.to, '--', 'sh', '-c', script];
    const running = startShipper(args, { stdio: ['pipe', 'pipe', 'pipe'] });
    await expect
      .poll(
        () => archivedRuns(dir).map((id) => archivedBytes(dir, id, 'stdout').toString()),
        PATIENT,
      )
      .toEqual([numberedLines(10_000)]);
    running.child.stdin?.end('\n');
    expect((await running.finished).code).toBe(0);
    const { stdout } = await receiver.stop();
    const { requests } = JSON.parse(stdout.toString().trim().split('\n').at(-1) ?? '') as {
      requests: number;
    };
    // To open and to finish, and far fewer than one per line for the rest.
    expect(requests).toBeGreaterThan(2);
    expect(requests).toBeLessThan(50);
    expect(runIds(spool)).toEqual([]);
  });

  it('leaves the command alone while the receiver is down; drain delivers once', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const receiver = await startReceiver(dir);
    await receiver.stop();
    const command = [NODE_PATH, LINES, '1000'];
    const args = ['run', '--spool', spool, '--to', receiver.to, '--drain-timeout', '100ms'];
    const result = await shipper([...args, '--', ...command]);
    expect(result.code).toBe(0);
    expect(result.stdout.toString()).toBe(numberedLines(1000));
    expect(result.stderr.toString()).toMatch(/1,000 entries .* stay in .*shipper drain/);
    const id = onlyRun(runIds(spool));
    expect(spooledBytes(spool, id, 'stdout').toString()).toBe(numberedLines(1000));
    await startReceiver(dir, { port: receiver.port });
    expect((await shipper(['drain', '--spool', spool])).code).toBe(0);
    expect((await shipper(['drain', '--spool', spool])).code).toBe(0);
    expect(archivedBytes(dir, id, 'stdout').toString()).toBe(numberedLines(1000));
    expect(runIds(spool)).toEqual([]);
  });

  it('captures at full pace while a destination takes connections and never answers', async () => {
    const spool = temporaryDirectory();
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const to = `shipper+http://127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
    const args = ['run', '--spool', spool, '--to', to, '--drain-timeout', '1ms'];
    const result = await shipper([...args, '--', NODE_PATH, LINES, '100000']);
    expect(result.code).toBe(0);
    expect(result.stdout.toString()).toBe(numberedLines(100_000));
    const id = onlyRun(runIds(spool));
    expect(spooledBytes(spool, id, 'stdout').toString()).toBe(numberedLines(100_000));
  });

  it('misses and doubles nothing when the receiver is killed and restarted', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const receiver = await startReceiver(dir);
    const script = `'${NODE_PATH}' ${LINES} 30000; read x; '${NODE_PATH}' ${LINES} 30000`;
    const args = ['run', '--spool', spool, '--to', receiver.to, '--', 'sh', '-c', script];
    const running = startShipper(args, { stdio: ['pipe', 'pipe', 'pipe'] });
    await expect
      .poll(
        () => archivedRuns(dir).map((id) => archivedBytes(dir, id, 'stdout').length > 0),
        PATIENT,
      )
      .toEqual([true]);
    await receiver.stop('SIGKILL');
    running.child.stdin?.end('\n');
    await running.untilStdout(/line 30000 [^]*line 30000 /);
    await startReceiver(dir, { port: receiver.port });
    expect((await running.finished).code).toBe(0);
    const id = onlyRun(archivedRuns(dir));
    const twice = numberedLines(30_000) + numberedLines(30_000);
    expect(archivedBytes(dir, id, 'stdout').toString()).toBe(twice);
  });

  it('brings every line that a wrapper had read which was killed, once, in order', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const receiver = await startReceiver(dir);
    const args = ['run', '--spool', spool, '--to', receiver.to, '--', NODE_PATH, LINES];
    const running = startShipper(args);
    await running.untilStdout(/line 50000 /);
    const { stdout } = await running.stop('SIGKILL');
    expect((await shipper(['drain', '--spool', spool])).code).toBe(0);
    const id = onlyRun(archivedRuns(dir));
    const text = archivedBytes(dir, id, 'stdout').toString();
    const passed = stdout.toString();
    expect(text.startsWith(passed.slice(0, passed.lastIndexOf('\n') + 1))).toBe(true);
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    expect(complete).toBe(numberedLines(complete.split('\n').length - 1));
    expect(runJson(dir, id)).toMatchObject({ exit: { unknown: true } });
    expect(runIds(spool)).toEqual([]);
  });

  it('carries two runs at once in one spool, with status and drain beside them', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const { to } = await startReceiver(dir);
    const script = `'${NODE_PATH}' ${LINES} 20000; read x`;
    const args = ['run', '--spool', spool, '--to', to, '--', 'sh', '-c', script];
    const runs = [1, 2].map(() => startShipper(args, { stdio: ['pipe', 'pipe', 'pipe'] }));
    await Promise.all(runs.map((run) => run.untilStdout(/line 20000 /)));
    const status = await shipper(['status', '--spool', spool, '--json']);
    const shown = JSON.parse(status.stdout.toString()) as { runs: { state: string }[] };
    expect(shown.runs.map(({ state }) => state)).toEqual(['live', 'live']);
    // Each wrapper delivers its own run; a drain beside them has nothing to do then.
    const pending = async (): Promise<number> => {
      const { stdout } = await shipper(['status', '--spool', spool, '--json']);
      const { totals } = JSON.parse(stdout.toString()) as { totals: { pendingEntries: number } };
      return totals.pendingEntries;
    };
    await expect.poll(pending, PATIENT).toBe(0);
    expect((await shipper(['drain', '--spool', spool])).code).toBe(0);
    for (const run of runs) run.child.stdin?.end('\n');
    for (const run of runs) expect((await run.finished).code).toBe(0);
    const ids = archivedRuns(dir);
    expect(ids).toHaveLength(2);
    for (const id of ids) {
      expect(archivedBytes(dir, id, 'stdout').toString()).toBe(numberedLines(20_000));
      expect(runJson(dir, id)).toMatchObject({ exit: { code: 0 } });
    }
    expect(runIds(spool)).toEqual([]);
  });

  it('goes to every destination that was given', async () => {
    const spool = temporaryDirectory();
    const dirs = [temporaryDirectory(), temporaryDirectory()];
    const to = dirs.flatMap((dir) => ['--to', `dir:${dir}`]);
    await shipper(['run', '--spool', spool, ...to, '--', 'echo', 'hello']);
    for (const dir of dirs) {
      expect(archivedBytes(dir, onlyRun(archivedRuns(dir)), 'stdout').toString()).toBe('hello\n');
    }
    expect(runIds(spool)).toEqual([]);
  });

  it('ends by the command’s signal after its output was delivered', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const args = [
      'run',
      '--spool',
      spool,
      '--to',
      `dir:${dir}`,
      '--',
      'sh',
      '-c',
      'echo x; kill -TERM $$',
    ];
    expect(await shipper(args)).toMatchObject({ code: null, signal: 'SIGTERM' });
    const id = onlyRun(archivedRuns(dir));
    expect(archivedBytes(dir, id, 'stdout').toString()).toBe('x\n');
    expect(runJson(dir, id)).toMatchObject({ exit: { signal: 'SIGTERM' } });
  });

  it('keeps the token out of environment, spool, archive and all output', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const environment = { SHIPPER_TOKEN: 'canary-4711' };
    const receiver = await startReceiver(dir, { environment });
    const args = [
      'run',
      '--spool',
      spool,
      '--to',
      receiver.to,
      '--log-level',
      'debug',
      '--',
      'env',
    ];
    const result = await shipper(args, { environment });
    expect(result.code).toBe(0);
    const found = spawnSync('grep', ['-r', '-l', 'canary-4711', spool, dir]);
    expect(found.stdout.toString()).toBe('');
    expect(result.stdout.toString() + result.stderr.toString()).not.toContain('canary-4711');
    expect(archivedBytes(dir, onlyRun(archivedRuns(dir)), 'stdout').length).toBeGreaterThan(0);
    expect(runJson(join(dir), onlyRun(archivedRuns(dir)))).toMatchObject({ exit: { code: 0 } });
  });

  it('keeps everything, and says what to do, while the token is refused', async () => {
    const spool = temporaryDirectory();
    const dir = temporaryDirectory();
    const receiver = await startReceiver(dir, { environment: { SHIPPER_TOKEN: 'right' } });
    // Far longer than the test may take: the refusal ends the wait.
    const args = ['run', '--spool', spool, '--to', receiver.to, '--drain-timeout', '1h'];
    const wrong = { environment: { SHIPPER_TOKEN: 'wrong' } };
    const result = await shipper([...args, '--', 'echo', 'hello'], wrong);
    expect(result.code).toBe(0);
    expect(result.stderr.toString()).toMatch(/401.*check the token/);
    expect((await shipper(['drain', '--spool', spool], wrong)).code).toBe(77);
    const right = { environment: { SHIPPER_TOKEN: 'right' } };
    expect((await shipper(['drain', '--spool', spool], right)).code).toBe(0);
    expect(archivedBytes(dir, onlyRun(archivedRuns(dir)), 'stdout').toString()).toBe('hello\n');
  });
});

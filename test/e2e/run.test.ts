import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NODE_PATH, shipper, startShipper } from '../support/shipper.js';
import { runIds, runJson, segments, spooledBytes } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const NASTY = 'fixtures/programs/nasty-output.js';
const LINES = 'fixtures/programs/numbered-lines.js';

/** A limit for what hangs, not for what is slow. */
const PATIENT = { timeout: 30_000 };

function onlyRun(spool: string): string {
  const ids = runIds(spool);
  expect(ids).toHaveLength(1);
  return ids[0] ?? '';
}

describe('shipper run without a destination', () => {
  it('keeps every byte of both streams in the spool and passes it through', async () => {
    const spool = temporaryDirectory();
    const truth = spawnSync(NODE_PATH, [NASTY], { maxBuffer: 1e8 });
    const result = await shipper(['run', '--spool', spool, '--', NODE_PATH, NASTY]);
    expect(result.code).toBe(0);
    expect(result.stdout.equals(truth.stdout)).toBe(true);
    expect(result.stderr.subarray(0, truth.stderr.length).equals(truth.stderr)).toBe(true);
    const id = onlyRun(spool);
    expect(spooledBytes(spool, id, 'stdout').equals(truth.stdout)).toBe(true);
    expect(spooledBytes(spool, id, 'stderr').equals(truth.stderr)).toBe(true);
    expect(segments(spool, id, 'open')).toEqual([]);
  });

  it('says in one line where the output is and how to deliver it later', async () => {
    const spool = temporaryDirectory();
    const { stderr } = await shipper(['run', '--spool', spool, '--', 'echo', 'hello']);
    const lines = stderr.toString().trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(spool);
    expect(lines[0]).toContain('shipper drain');
  });

  it('records how the run ended, with totals and digests', async () => {
    const spool = temporaryDirectory();
    await shipper([
      'run',
      '--spool',
      spool,
      '--name',
      'job',
      '--label',
      'a=b',
      '--',
      'sh',
      '-c',
      'echo hi; exit 7',
    ]);
    const record = runJson(join(spool, 'runs'), onlyRun(spool));
    expect(record).toMatchObject({
      name: 'job',
      labels: { a: 'b' },
      command: ['sh', '-c', 'echo hi; exit 7'],
      exit: { code: 7 },
      gaps: 0,
      streams: {
        stdout: { last: 1, bytes: 3, sha256: createHash('sha256').update('hi\n').digest('hex') },
      },
    });
  });

  it('copies nothing to its own output with --no-passthrough', async () => {
    const spool = temporaryDirectory();
    const { stdout } = await shipper([
      'run',
      '--spool',
      spool,
      '--no-passthrough',
      '--',
      'echo',
      'hello',
    ]);
    expect(stdout.length).toBe(0);
    expect(spooledBytes(spool, onlyRun(spool), 'stdout').toString()).toBe('hello\n');
  });

  it('seals by entries, and no sequence is missing', async () => {
    const spool = temporaryDirectory();
    const args = ['--segment-max-entries', '10', '--flush-interval', '1h'];
    await shipper(['run', '--spool', spool, ...args, '--', NODE_PATH, LINES, '95']);
    const names = segments(spool, onlyRun(spool), 'sealed');
    expect(names).toHaveLength(10);
    expect(names.at(-1)).toBe('stdout-000000000091-000000000095.seg');
  });

  it('seals by bytes', async () => {
    const spool = temporaryDirectory();
    const args = ['--segment-max-bytes', '4KiB', '--flush-interval', '1h'];
    await shipper(['run', '--spool', spool, ...args, '--', NODE_PATH, LINES, '2000']);
    const directory = join(spool, 'runs', onlyRun(spool));
    const names = segments(spool, onlyRun(spool), 'sealed');
    expect(names.length).toBeGreaterThan(5);
    expect(spooledBytes(spool, onlyRun(spool), 'stdout').toString().split('\n')).toHaveLength(2001);
    expect(readdirSync(directory)).toContain('run.json');
  });

  it('seals the line of a quiet stream while the command still runs', async () => {
    const spool = temporaryDirectory();
    const running = startShipper(
      ['run', '--spool', spool, '--', 'sh', '-c', 'echo ready; read x'],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    await running.untilStdout(/ready/);
    await expect.poll(() => segments(spool, onlyRun(spool), 'sealed'), PATIENT).toHaveLength(1);
    running.child.stdin?.end('\n');
    expect((await running.finished).code).toBe(0);
  });

  it('writes a prompt without newline to the spool while the command waits', async () => {
    const spool = temporaryDirectory();
    const running = startShipper(
      ['run', '--spool', spool, '--', 'sh', '-c', 'printf "name? "; read x'],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    await running.untilStdout(/name\?/);
    await expect
      .poll(() => spooledBytes(spool, onlyRun(spool), 'stdout').toString(), PATIENT)
      .toBe('name? ');
    running.child.stdin?.end('joe\n');
    expect((await running.finished).code).toBe(0);
  });
});

describe('the command behind shipper run', () => {
  it('reads its stdin untouched', async () => {
    const spool = temporaryDirectory();
    const running = startShipper(['run', '--spool', spool, '--', 'sha256sum'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const input = Buffer.alloc(10_000_000, 'input');
    running.child.stdin?.end(input);
    const { stdout } = await running.finished;
    expect(stdout.toString()).toContain(createHash('sha256').update(input).digest('hex'));
  });

  it.each([0, 1, 2, 64, 125, 126, 127, 128, 137, 255])(
    'has its exit code %i passed on',
    async (code) => {
      const args = [
        'run',
        '--spool',
        temporaryDirectory(),
        '--',
        'sh',
        '-c',
        `exit ${String(code)}`,
      ];
      expect((await shipper(args)).code).toBe(code);
    },
  );

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL', 'SIGPIPE', 'SIGUSR1'] as const)(
    'has its death by %s passed on',
    async (signal) => {
      const script = `kill -${signal.slice(3)} $$`;
      const result = await shipper([
        'run',
        '--spool',
        temporaryDirectory(),
        '--',
        'sh',
        '-c',
        script,
      ]);
      expect(result).toMatchObject({ code: null, signal });
    },
  );

  it('gets the signals that the wrapper gets, and may end as it likes', async () => {
    const script = 'trap "echo got it; exit 9" TERM; echo ready; while :; do sleep 0.05; done';
    const spool = temporaryDirectory();
    const running = startShipper(['run', '--spool', spool, '--', 'sh', '-c', script]);
    await running.untilStdout(/ready/);
    expect((await running.stop('SIGTERM')).code).toBe(9);
    expect(spooledBytes(spool, onlyRun(spool), 'stdout').toString()).toBe('ready\ngot it\n');
  });

  it('keeps all options after its name for itself', async () => {
    const args = ['run', '--spool', temporaryDirectory(), 'echo', '--help', '--spool', '-x'];
    expect((await shipper(args)).stdout.toString()).toBe('--help --spool -x\n');
  });

  it('goes on when the reader of the pass-through has gone, captured to its end', async () => {
    const spool = temporaryDirectory();
    const wrapper = `'${NODE_PATH}' bin/shipper.js run --spool '${spool}'`;
    const quoted = `${wrapper} -- '${NODE_PATH}' ${LINES} 20000`;
    const result = spawnSync('bash', ['-c', `${quoted} | head -1; exit \${PIPESTATUS[0]}`]);
    expect(result.stdout.toString()).toBe('line 1 of the program\n');
    expect(result.status).toBe(0);
    const text = spooledBytes(spool, onlyRun(spool), 'stdout').toString();
    expect(text.endsWith('line 20000 of the program\n')).toBe(true);
  });
});

describe('shipper run when something is wrong', () => {
  it('exits 127 and says so when the command is not found', async () => {
    const result = await shipper(['run', '--spool', temporaryDirectory(), '--', 'no-such-command']);
    expect(result.code).toBe(127);
    expect(result.stderr.toString()).toMatch(/^shipper: cannot run no-such-command: not found; /m);
  });

  it('exits 126 and says so when the command is not executable', async () => {
    const result = await shipper(['run', '--spool', temporaryDirectory(), '--', '/etc/passwd']);
    expect(result.code).toBe(126);
    expect(result.stderr.toString()).toMatch(
      /^shipper: cannot run \/etc\/passwd: it is not executable/m,
    );
  });

  it('runs the command all the same when the spool is a file', async () => {
    const spool = join(temporaryDirectory(), 'file');
    writeFileSync(spool, 'something of mine');
    const result = await shipper(['run', '--spool', spool, '--', 'sh', '-c', 'echo hello; exit 5']);
    expect(result.code).toBe(5);
    expect(result.stdout.toString()).toBe('hello\n');
    expect(result.stderr.toString()).toMatch(
      /^shipper: cannot use the spool .*; running the command/m,
    );
    expect(readFileSync(spool, 'utf8')).toBe('something of mine');
  });

  it('runs the command all the same when a destination cannot be used', async () => {
    const spool = temporaryDirectory();
    const result = await shipper([
      'run',
      '--spool',
      spool,
      '--to',
      'gopher://x',
      '--',
      'echo',
      'hello',
    ]);
    expect(result.code).toBe(0);
    expect(result.stdout.toString()).toBe('hello\n');
    expect(result.stderr.toString()).toMatch(/^shipper: .*gopher/m);
    expect(spooledBytes(spool, onlyRun(spool), 'stdout').toString()).toBe('hello\n');
  });

  it('leaves what is foreign in the spool alone', async () => {
    const spool = temporaryDirectory();
    mkdirSync(join(spool, 'runs', 'not-a-run'), { recursive: true });
    writeFileSync(join(spool, 'runs', 'notes.txt'), 'mine');
    expect((await shipper(['run', '--spool', spool, '--', 'true'])).code).toBe(0);
    expect(existsSync(join(spool, 'runs', 'notes.txt'))).toBe(true);
    expect(existsSync(join(spool, 'runs', 'not-a-run'))).toBe(true);
  });
});

describe('a wrapper killed with SIGKILL', () => {
  it('has every complete line that it had read on disk, in order, none cut', async () => {
    const spool = temporaryDirectory();
    const running = startShipper(['run', '--spool', spool, '--', NODE_PATH, LINES]);
    await running.untilStdout(/line 20000 /);
    const { stdout } = await running.stop('SIGKILL');
    const passed = stdout.toString();
    const kept = spooledBytes(spool, onlyRun(spool), 'stdout').toString();
    // A line is on disk before it is passed through.
    expect(kept.startsWith(passed.slice(0, passed.lastIndexOf('\n') + 1))).toBe(true);
    const numbers = kept
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[1]));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });
});

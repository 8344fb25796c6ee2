import { spawnSync } from 'node:child_process';
import { describe, expect, it, vi } from 'vitest';
import { captured } from '../support/captured.js';

describe('startCapture', () => {
  it('takes everything that a child prints which exits at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { stdout, end } = await captured(['head', '-c', '60000', '/dev/zero']);
      expect(stdout.length).toBe(60_000);
      expect(end).toEqual({ exit: { code: 0 }, heldOpen: [] });
    }
  });

  it('keeps the two streams apart', async () => {
    const { stdout, stderr } = await captured(['sh', '-c', 'echo out; echo err >&2']);
    expect(stdout.toString()).toBe('out\n');
    expect(stderr.toString()).toBe('err\n');
  });

  it('gives the child pipes that it can open by name', async () => {
    const script = 'echo a > /dev/stdout; echo b >> /dev/fd/1; echo c | tee /dev/stderr';
    const { stdout, stderr } = await captured(['sh', '-c', script]);
    expect(stdout.toString()).toBe('a\nb\nc\n');
    expect(stderr.toString()).toBe('c\n');
  });

  it('passes no descriptor of its own to the child', async () => {
    const { stdout } = await captured(['ls', '/proc/self/fd']);
    // What whoever started us has left open is there in both.
    const without = spawnSync('ls', ['/proc/self/fd'], { stdio: ['ignore', 'pipe', 'pipe'] });
    expect(stdout.toString()).toBe(without.stdout.toString());
  });

  it('tells a death by signal from an exit', async () => {
    const { end } = await captured(['sh', '-c', 'kill -KILL $$']);
    expect(end.exit).toEqual({ signal: 'SIGKILL' });
  });

  it('goes on with one stream when the child closes the other', async () => {
    const { stdout, stderr } = await captured(['sh', '-c', 'exec 1>&-; echo still here >&2']);
    expect(stdout.length).toBe(0);
    expect(stderr.toString()).toBe('still here\n');
  });

  it('takes all the child wrote, and does not hang on a descendant with open pipes', async () => {
    const script = 'sleep 60 & echo $!; head -c 60000 /dev/zero';
    const { stdout, end } = await captured(['sh', '-c', script]);
    process.kill(Number(stdout.toString('latin1').split('\n')[0]), 'SIGKILL');
    expect(end).toEqual({ exit: { code: 0 }, heldOpen: ['stdout', 'stderr'] });
    expect(stdout.length - stdout.indexOf('\n') - 1).toBe(60_000);
  });

  it('takes what a descendant still prints shortly after the child has ended', async () => {
    const { stdout, end } = await captured([
      'sh',
      '-c',
      '(read x < /dev/null; sleep 0.2; echo late) & echo early',
    ]);
    expect(stdout.toString()).toBe('early\nlate\n');
    expect(end.heldOpen).toEqual([]);
  });

  it('falls back to pipes of Node where there is no mkfifo', async () => {
    vi.stubEnv('TMPDIR', '/nonexistent/folder');
    try {
      const { stdout, stderr, end } = await captured([
        'sh',
        '-c',
        'echo out; echo err >&2; exit 4',
      ]);
      expect(stdout.toString()).toBe('out\n');
      expect(stderr.toString()).toBe('err\n');
      expect(end.exit).toEqual({ code: 4 });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each([
    ['nonexistent-command', 'command-not-found'],
    ['/', 'command-not-executable'],
    ['/etc/passwd', 'command-not-executable'],
  ])('says why %s cannot be started', async (name, code) => {
    await expect(captured([name])).rejects.toMatchObject({ code });
  });

  it('says so when the arguments are too long', async () => {
    await expect(captured(['true', 'x'.repeat(3_000_000)])).rejects.toMatchObject({
      code: 'spawn-failed',
    });
  });
});

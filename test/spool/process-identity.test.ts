import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  isProcessIdentity,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
} from '../../src/spool/process-identity.js';

const SELF = ownIdentity();

/** A process that lives until it is killed, and its identity. */
function startProcess(command = ['sleep', '1000']): {
  kill: () => Promise<void>;
  identity: ProcessIdentity;
} {
  const child = spawn(command[0]!, command.slice(1), { stdio: 'ignore' });
  const ended = once(child, 'close');
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const pid = child.pid ?? 0;
  return {
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
    identity: { ...SELF, pid, startTicks: startTicksOf(pid) },
  };
}

function startTicksOf(pid: number): string {
  return readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    .split(') ')[1]!
    .split(' ')[19]!;
}

describe('ownIdentity', () => {
  it('is the same each time, and tells us from every other process', () => {
    expect(ownIdentity()).toEqual(SELF);
    expect(SELF.pid).toBe(process.pid);
    expect(SELF.startTicks).toBe(startTicksOf(process.pid));
    expect(isProcessIdentity(SELF)).toBe(true);
  });
});

describe('livenessOf', () => {
  it('finds ourselves alive', () => {
    expect(livenessOf(SELF)).toBe('alive');
  });

  it('finds another process alive until it is killed', async () => {
    const { identity, kill } = startProcess();
    expect(livenessOf(identity)).toBe('alive');
    await kill();
    expect(livenessOf(identity)).toBe('dead');
  });

  it('finds a stopped process alive', () => {
    const { identity } = startProcess();
    process.kill(identity.pid, 'SIGSTOP');
    expect(livenessOf(identity)).toBe('alive');
  });

  it('finds a process dead that has ended and that nobody has waited for', async () => {
    // The shell starts a child, and becomes a program that never waits for it; then the child ends.
    const child = spawn('sh', ['-c', 'head -1 <&3 >&2 & echo $!; exec sleep 1000 3<&-'], {
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    const pid = Number(line.toString());
    const name = (): string => readFileSync(`/proc/${String(child.pid)}/comm`, 'utf8').trim();
    await vi.waitUntil(() => name() === 'sleep', { timeout: 10_000 });
    (child.stdio[3] as Writable).end();
    const state = (): string | undefined =>
      readFileSync(`/proc/${String(pid)}/stat`, 'utf8').split(') ')[1]?.[0];
    await vi.waitUntil(() => state() === 'Z', { timeout: 10_000 });
    expect(livenessOf({ ...SELF, pid, startTicks: startTicksOf(pid) })).toBe('dead');
  });

  it('finds an owner dead whose pid another process has now', () => {
    const { identity } = startProcess();
    expect(livenessOf({ ...identity, startTicks: '1' })).toBe('dead');
    expect(livenessOf({ ...SELF, startTicks: '1' })).toBe('dead');
  });

  it('finds an owner from before the last boot dead', () => {
    expect(livenessOf({ ...SELF, bootId: 'another' })).toBe('dead');
  });

  it.each<[string, Partial<ProcessIdentity>]>([
    ['on another host', { host: 'elsewhere' }],
    ['on another host, of another boot', { host: 'elsewhere', bootId: 'another' }],
    ['in another container', { pidNamespace: 'pid:[1]' }],
    ['whose boot is not known', { bootId: null }],
  ])('does not judge an owner %s', (_, other) => {
    expect(livenessOf({ ...SELF, ...other })).toBe('unknown');
  });

  it('takes a process for its owner where the start time is not known', () => {
    const { identity } = startProcess();
    expect(livenessOf({ ...identity, startTicks: null })).toBe('alive');
  });
});

describe('isProcessIdentity', () => {
  it.each([
    null,
    'x',
    {},
    { ...SELF, pid: '1' },
    { ...SELF, pid: 0 },
    { ...SELF, pid: -1 },
    { ...SELF, pid: 1.5 },
    { ...SELF, host: 1 },
    { ...SELF, startTicks: 5 },
    { ...SELF, bootId: undefined },
  ])('refuses %j', (value) => {
    expect(isProcessIdentity(value)).toBe(false);
  });

  it('takes an identity of a system that tells little', () => {
    const little = { ...SELF, startTicks: null, bootId: null, pidNamespace: null };
    expect(isProcessIdentity(little)).toBe(true);
  });
});

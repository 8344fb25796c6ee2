import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { acquireLock, lockOwner, type Lock, type LockAttempt } from '../../src/spool/lock.js';
import { ownIdentity, type ProcessIdentity } from '../../src/spool/process-identity.js';
import { bundleProgram, startProgram, type ChildProgram } from '../support/child-program.js';
import { withCode } from '../support/file-system-suite.js';
import { deadIdentity } from '../support/prepared-spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

afterEach(() => {
  vi.useRealTimers();
});

function newPath(): string {
  return join(temporaryDirectory(), 'writer.lock');
}

function tryLock(path: string, onLost: () => void = () => undefined): Promise<LockAttempt> {
  return acquireLock(path, onLost);
}

async function lock(path: string, onLost?: () => void): Promise<Lock> {
  const attempt = await tryLock(path, onLost);
  if (attempt.kind === 'held') throw new Error(`held by ${JSON.stringify(attempt.owner)}`);
  return attempt.lock;
}

/** A lock as another process has left it. */
function layDown(path: string, owner: ProcessIdentity | string): void {
  mkdirSync(path, { recursive: true });
  const content = typeof owner === 'string' ? owner : JSON.stringify(owner);
  writeFileSync(join(path, 'owner-00000000deadbeef.json'), content);
}

async function startHolder(): Promise<ChildProgram> {
  const program = startProgram(await bundleProgram('lock-program'));
  await program.nextLine();
  return program;
}

const LONG_AGO = new Date(0);

describe('a lock', () => {
  it('is taken, names its owner, and is free again', async () => {
    const path = newPath();
    const taken = await lock(path);
    const [name = ''] = readdirSync(path);
    expect(JSON.parse(readFileSync(join(path, name), 'utf8'))).toEqual(ownIdentity());
    expect(lockOwner(path)).toEqual(ownIdentity());
    await taken.release();
    expect(existsSync(path)).toBe(false);
    expect(lockOwner(path)).toBeUndefined();
    await (await lock(path)).release();
  });

  it('excludes a second owner in the same process', async () => {
    const path = newPath();
    const taken = await lock(path);
    expect(await tryLock(path)).toEqual({ kind: 'held', owner: ownIdentity() });
    await taken.release();
  });

  it('can be freed twice', async () => {
    const path = newPath();
    const taken = await lock(path);
    await taken.release();
    await taken.release();
    const again = await lock(path);
    await taken.release();
    expect(lockOwner(path)).toEqual(ownIdentity());
    await again.release();
  });

  it('can be freed when its directory is gone', async () => {
    const path = newPath();
    const taken = await lock(path);
    rmSync(path, { recursive: true });
    await taken.release();
  });

  it('is private', async () => {
    const path = newPath();
    const taken = await lock(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, readdirSync(path)[0]!)).mode & 0o777).toBe(0o600);
    await taken.release();
  });

  it('cannot be taken where its directory cannot be made', async () => {
    const path = join(temporaryDirectory(), 'gone', 'writer.lock');
    await expect(tryLock(path)).rejects.toThrow(withCode('ENOENT'));
  });

  it('leaves nothing beside it when it cannot be taken', async () => {
    const path = newPath();
    const taken = await lock(path);
    await tryLock(path);
    expect(readdirSync(join(path, '..'))).toEqual(['writer.lock']);
    await taken.release();
  });
});

describe('a lock of another process', () => {
  it('is held while that process lives, and is free at once when it was killed', async () => {
    const path = newPath();
    const holder = await startHolder();
    expect(await holder.ask(`acquire ${path}`)).toBe('acquired');
    expect(await tryLock(path)).toMatchObject({ kind: 'held', owner: { pid: holder.pid } });
    expect(lockOwner(path)?.pid).toBe(holder.pid);
    await holder.kill();
    expect(lockOwner(path)).toBeUndefined();
    await (await lock(path)).release();
  });

  it('is freed when that process ends by itself', async () => {
    const path = newPath();
    const holder = await startHolder();
    await holder.ask(`acquire ${path}`);
    holder.process.stdin?.end();
    await vi.waitUntil(() => holder.process.exitCode !== null, { timeout: 10_000 });
    expect(existsSync(path)).toBe(false);
  });

  it('is never taken over while that process is only stopped, however long', async () => {
    const path = newPath();
    const holder = await startHolder();
    await holder.ask(`acquire ${path}`);
    holder.process.kill('SIGSTOP');
    utimesSync(path, LONG_AGO, LONG_AGO);
    expect(await tryLock(path)).toMatchObject({ kind: 'held', owner: { pid: holder.pid } });
    holder.process.kill('SIGCONT');
    expect(await holder.ask('release')).toBe('released');
    await (await lock(path)).release();
  });

  it('is free when its pid is ours now, or another process has it', async () => {
    const holder = await startHolder();
    for (const pid of [process.pid, holder.pid]) {
      const path = newPath();
      layDown(path, { ...ownIdentity(), pid, startTicks: '1' });
      await (await lock(path)).release();
    }
  });

  it('is free when it is from before the last boot', async () => {
    const path = newPath();
    layDown(path, deadIdentity());
    await (await lock(path)).release();
  });

  it.each<[string, ProcessIdentity | string]>([
    ['on another host', { ...ownIdentity(), host: 'elsewhere' }],
    ['in another container', { ...ownIdentity(), pidNamespace: 'pid:[1]' }],
    ['with a damaged owner file', '{"host":'],
    ['with an owner file without sense', '[]'],
  ])('%s is held while its heart beats, and free when it has long stopped', async (_, owner) => {
    const path = newPath();
    layDown(path, owner);
    const known = typeof owner === 'string' ? null : owner;
    expect(await tryLock(path)).toEqual({ kind: 'held', owner: known });
    utimesSync(path, LONG_AGO, LONG_AGO);
    await (await lock(path)).release();
  });

  it('that was begun and not finished is free', async () => {
    const path = newPath();
    mkdirSync(path);
    mkdirSync(`${path}.owner-0123456789abcdef.json.tmp`);
    await (await lock(path)).release();
  });
});

describe('rivals for the lock of a dead process', () => {
  it('come to one owner, in every round', { timeout: 60_000 }, async () => {
    const program = await bundleProgram('lock-program');
    const rivals = [startProgram(program), startProgram(program)];
    for (const rival of rivals) await rival.nextLine();
    const path = newPath();
    for (let round = 0; round < 50; round += 1) {
      layDown(path, deadIdentity());
      const startMs = Date.now() + 5;
      const outcomes = await Promise.all(
        rivals.map((rival) => rival.ask(`acquire ${path} ${String(startMs)}`)),
      );
      expect([...outcomes].sort()).toEqual(['acquired', 'held']);
      const winner = rivals[outcomes.indexOf('acquired')]!;
      expect(lockOwner(path)?.pid).toBe(winner.pid);
      await winner.ask('release');
      expect(existsSync(path)).toBe(false);
    }
  });

  it('come to one owner within a process', async () => {
    for (let round = 0; round < 20; round += 1) {
      const path = newPath();
      layDown(path, deadIdentity());
      const attempts = await Promise.all(Array.from({ length: 5 }, () => tryLock(path)));
      const taken = attempts.filter((attempt) => attempt.kind === 'acquired');
      expect(taken).toHaveLength(1);
      for (const attempt of taken) await attempt.lock.release();
    }
  });
});

describe('the heartbeat', () => {
  it('goes on as long as the lock is held', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const path = newPath();
    const taken = await lock(path, () => expect.fail('lost'));
    const before = statSync(path).mtimeMs;
    await vi.advanceTimersByTimeAsync(10_000);
    await vi.waitUntil(() => statSync(path).mtimeMs > before);
    await taken.release();
  });

  it('tells when somebody else has the lock, and leaves it to him', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const path = newPath();
    let lost = 0;
    const taken = await lock(path, () => {
      lost += 1;
    });
    renameSync(path, `${path}.old`);
    layDown(path, { ...ownIdentity(), host: 'elsewhere' });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lost).toBe(1);
    await taken.release();
    expect(lockOwner(path)?.host).toBe('elsewhere');
  });

  it('tells when the lock was removed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const path = newPath();
    let lost = 0;
    await lock(path, () => {
      lost += 1;
    });
    rmSync(path, { recursive: true });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lost).toBe(1);
  });
});

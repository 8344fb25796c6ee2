import fs from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import lockfile from 'proper-lockfile';
import { systemClock } from '../core/clock.js';
import { systemCode } from '../core/errors.js';
import {
  isProcessIdentity,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
} from './process-identity.js';

/**
 * One writer and one uploader per run, between processes.
 *
 * A lock is a directory that holds one file, `owner-<nonce>.json`, naming its process. It is taken
 * by one rename of a directory that already holds the file: that succeeds only where there is none,
 * or an empty one. It dies with its process: whether that lives is judged by pid, start time and
 * boot id, so the lock of a killed process is taken over at once, and that of a stopped one never.
 * Only an owner that cannot be judged (another host, another pid namespace) goes by the age of its
 * heartbeat.
 *
 * Taking over is free of races: it unlinks the very owner file that was judged dead, and a new
 * owner's file has another name. A crash between two steps leaves an empty directory, which is
 * free, or one with the ending `.tmp`, which is removed with the run.
 */
export interface Lock {
  /** Frees it. Idempotent; a lock that was lost is left to its new owner. */
  release(): Promise<void>;
}

export type LockAttempt =
  | { readonly kind: 'acquired'; readonly lock: Lock }
  /** `owner` is null when it cannot be read, or has just let go. */
  | { readonly kind: 'held'; readonly owner: ProcessIdentity | null };

/**
 * Heartbeat of owners that others cannot judge otherwise, and the age from which it counts as dead.
 */
const HEARTBEAT_MS = 10_000;
const HEARTBEAT_LOST_MS = 60_000;

const OWNER_FILE = /^owner-[0-9a-f]{16}\.json$/;

/**
 * Tries once, without waiting.
 *
 * @param path of the lock directory, which ends in `.lock`
 * @param onLost called when the lock turns out to be no longer ours: stop using what it protects
 * @throws the system error when the directory cannot be created
 */
export async function acquireLock(path: string, onLost: () => void): Promise<LockAttempt> {
  const nonce = randomBytes(8).toString('hex');
  try {
    const release = await lockfile.lock(path, {
      lockfilePath: path,
      realpath: false,
      stale: HEARTBEAT_LOST_MS,
      update: HEARTBEAT_MS,
      fs: new OwnedDirectories(nonce),
      // The default throws from a timer, which would end the process.
      onCompromised: onLost,
    });
    return { kind: 'acquired', lock: { release: () => releaseQuietly(release) } };
  } catch (error) {
    if (systemCode(error) !== 'ELOCKED') throw error;
    return { kind: 'held', owner: readOwner(path)?.identity ?? null };
  }
}

/** Who holds a lock now, if it is held by somebody who lives. Takes nothing. */
export function lockOwner(path: string): ProcessIdentity | undefined {
  const identity = readOwner(path)?.identity ?? null;
  return identity === null || livenessOf(identity) === 'dead' ? undefined : identity;
}

async function releaseQuietly(release: () => Promise<void>): Promise<void> {
  try {
    await release();
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'ERELEASED' && code !== 'ENOTACQUIRED') throw error;
  }
}

type Callback<T = void> = (error: unknown, value?: T) => void;

/**
 * The file operations that proper-lockfile calls, with an owner file in each lock directory, and
 * with the owner's death told in the one way that it understands: an mtime long past.
 */
class OwnedDirectories {
  readonly utimes = fs.utimes;
  readonly #ownName: string;
  /**
   * The owner file that the last `stat` judged dead: the only foreign one that `rmdir` may remove.
   */
  #deadName: string | undefined;

  constructor(nonce: string) {
    this.#ownName = `owner-${nonce}.json`;
  }

  mkdir(path: string, done: Callback): void {
    const prepared = `${path}.${this.#ownName}.tmp`;
    try {
      fs.mkdirSync(prepared, 0o700);
      const identity = Buffer.from(`${JSON.stringify(ownIdentity())}\n`);
      fs.writeFileSync(join(prepared, this.#ownName), identity, { flag: 'wx', mode: 0o600 });
      fs.renameSync(prepared, path);
      done(null);
    } catch (error) {
      fs.rmSync(prepared, { recursive: true, force: true });
      done(systemCode(error) === 'ENOTEMPTY' ? takenError() : error);
    }
  }

  stat(path: string, done: Callback<fs.Stats>): void {
    try {
      const stats = fs.statSync(path);
      stats.mtime = this.#mtimeToTell(path, stats.mtime);
      done(null, stats);
    } catch (error) {
      done(error);
    }
  }

  rmdir(path: string, done: Callback): void {
    try {
      this.rmdirSync(path);
      done(null);
    } catch (error) {
      done(error);
    }
  }

  /** Also called by proper-lockfile when the process exits. */
  rmdirSync(path: string): void {
    for (const name of [this.#ownName, this.#deadName]) {
      if (name !== undefined) fs.rmSync(join(path, name), { force: true });
    }
    try {
      fs.rmdirSync(path);
    } catch (error) {
      // ENOTEMPTY: a rival has it already; the next attempt to create it will say so.
      if (systemCode(error) !== 'ENOTEMPTY') throw error;
    }
  }

  #mtimeToTell(path: string, mtime: Date): Date {
    const owner = readOwner(path);
    this.#deadName = undefined;
    if (owner?.name === this.#ownName) return mtime;
    if (owner === undefined) return new Date(0);
    const liveness = owner.identity === null ? 'unknown' : livenessOf(owner.identity);
    // proper-lockfile compares with the wall clock of the same moment, so that a step of it changes
    // nothing.
    if (liveness === 'alive') return new Date(systemClock.wallMs());
    this.#deadName = owner.name;
    return liveness === 'dead' ? new Date(0) : mtime;
  }
}

/** What proper-lockfile takes for: somebody has it. */
function takenError(): Error {
  return Object.assign(new Error('the lock is taken'), { code: 'EEXIST' });
}

interface OwnerFile {
  readonly name: string;
  /** Null when the file is damaged: its owner can only be judged by its heartbeat. */
  readonly identity: ProcessIdentity | null;
}

function readOwner(path: string): OwnerFile | undefined {
  try {
    const name = fs.readdirSync(path).find((entry) => OWNER_FILE.test(entry));
    if (name === undefined) return undefined;
    return { name, identity: parseIdentity(fs.readFileSync(join(path, name), 'utf8')) };
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function parseIdentity(text: string): ProcessIdentity | null {
  try {
    const value: unknown = JSON.parse(text);
    return isProcessIdentity(value) ? value : null;
  } catch {
    return null;
  }
}

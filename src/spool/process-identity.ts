import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemCode } from '../core/errors.js';

/**
 * Which process owns something on disk, so that others can tell whether it still lives. A pid alone
 * does not do: it is used again, and a container gets the same one at each start. Start time and
 * boot id make it unique; the pid namespace says whether we can judge it at all.
 */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Start time in clock ticks since boot; null where the system does not tell. */
  readonly startTicks: string | null;
  /** Changes at each boot; null where the system does not tell. */
  readonly bootId: string | null;
  /** The pid namespace; null where the system does not tell. */
  readonly pidNamespace: string | null;
}

/** `unknown`: on another host or in another pid namespace, from where nothing can be seen. */
export type Liveness = 'alive' | 'dead' | 'unknown';

/** Who we are. Costs three small reads of /proc. */
export function ownIdentity(): ProcessIdentity {
  return {
    host: hostname(),
    pid: process.pid,
    startTicks: startTicksOf('self'),
    bootId: readText('/proc/sys/kernel/random/boot_id'),
    pidNamespace: pidNamespace(),
  };
}

/** Judged by pid, start time and boot id, never by the age of a file: a slow disk is no death. */
export function livenessOf(owner: ProcessIdentity): Liveness {
  const self = ownIdentity();
  if (owner.host !== self.host) return 'unknown';
  if (owner.bootId === null || self.bootId === null) {
    if (owner.bootId !== self.bootId) return 'unknown';
  } else if (owner.bootId !== self.bootId) {
    return 'dead';
  }
  if (owner.pidNamespace !== self.pidNamespace) return 'unknown';
  if (owner.pid === self.pid && owner.startTicks === self.startTicks) return 'alive';
  if (!pidExists(owner.pid)) return 'dead';
  const startTicks = startTicksOf(String(owner.pid));
  if (startTicks === null || owner.startTicks === null) return 'alive';
  return startTicks === owner.startTicks ? 'alive' : 'dead';
}

export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== 'object' || value === null) return false;
  const {
    host,
    pid,
    startTicks,
    bootId,
    pidNamespace: namespace,
  } = value as Record<string, unknown>;
  const texts = [startTicks, bootId, namespace];
  return (
    typeof host === 'string' &&
    typeof pid === 'number' &&
    Number.isSafeInteger(pid) &&
    pid > 0 &&
    texts.every((text) => text === null || typeof text === 'string')
  );
}

function pidExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists and is somebody else's.
    return systemCode(error) !== 'ESRCH';
  }
}

/** Field 22 of /proc/<pid>/stat; the command name before it may contain spaces and parentheses. */
function startTicksOf(pid: string): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie is a process that has ended and that nobody has waited for yet.
  if (fields[0] === 'Z' || fields[0] === 'X') return 'ended';
  return fields[19] ?? null;
}

function pidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}

/** Null where there is no such file, as on systems without /proc. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FileSystem } from '../../src/disk/file-system.js';
import { deadIdentity } from './prepared-spool.js';

/** A file system for something that is to be killed in the middle, in this very process. */
export interface Freezable {
  readonly fs: FileSystem;
  /** From now on no call ever returns: for who called it, that is the end. */
  freeze(): void;
  readonly isFrozen: boolean;
}

export function freezable(inner: FileSystem): Freezable {
  let isFrozen = false;
  const fs = new Proxy(inner, {
    get(target, name: keyof FileSystem): unknown {
      const method = target[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]): unknown => {
        if (!isFrozen) return method(...args);
        if (name === 'create' || name === 'openAppend') throw new Error('frozen');
        return new Promise(() => undefined);
      };
    },
  });
  return {
    fs,
    freeze: () => void (isFrozen = true),
    get isFrozen() {
      return isFrozen;
    },
  };
}

/** Makes the locks in a run's directory look as if their owner had been killed. */
export function buryLocks(directory: string): void {
  for (const name of ['writer.lock', 'uploader.lock']) {
    for (const owner of namesIn(join(directory, name))) {
      writeFileSync(join(directory, name, owner), JSON.stringify(deadIdentity()));
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

import { resolve } from 'node:path';
import { ShipperError, reasonOf } from '../core/errors.js';
import type { Options } from '../core/options.js';
import type { FileStat, FileSystem } from '../disk/file-system.js';
import { defaultSpoolRoot, spoolLayout, type SpoolLayout } from '../spool/layout.js';

/** Absolute path of the spool: the option, or the default of the XDG specification. */
export function spoolRootOf(options: Options, environment: NodeJS.ProcessEnv): string {
  return resolve(options.spool ?? defaultSpoolRoot(environment));
}

/**
 * For commands that read a spool; none creates one. Undefined when there is none, which is an empty
 * one.
 *
 * @throws ShipperError `spool-unusable` when the path is not a directory or cannot be looked at.
 */
export async function findSpool(fs: FileSystem, root: string): Promise<SpoolLayout | undefined> {
  const found = await statSpool(fs, root);
  if (found === undefined) return undefined;
  // A symbolic link to a directory lists like one.
  if (found.kind !== 'file') return spoolLayout(root);
  throw unusable(root, 'it is a file', 'choose a directory with --spool');
}

async function statSpool(fs: FileSystem, root: string): Promise<FileStat | undefined> {
  try {
    const found = await fs.stat(root);
    if (found !== undefined && found.kind !== 'file') await fs.list(root);
    return found;
  } catch (error) {
    throw unusable(root, reasonOf(error), 'choose a directory that you may read with --spool');
  }
}

function unusable(root: string, why: string, hint: string): ShipperError {
  return new ShipperError('spool-unusable', `cannot use the spool ${root}: ${why}`, { hint });
}

import { basename, dirname, join } from 'node:path';
import { systemCode } from '../core/errors.js';
import type { FileSystem } from './file-system.js';

/**
 * The durable operations that everything is built from. Each is one commit: after a crash at any
 * moment the old state or the new one is there, never a mixture.
 */

/**
 * Files that carry this ending are unfinished: a crash left them, and whoever finds one removes it.
 */
export const TEMPORARY_SUFFIX = '.tmp';

/**
 * `durable`: survives a power cut. `atomic`: whole or absent, but the newest may be lost in one.
 */
export type CommitMode = 'durable' | 'atomic';

/**
 * Replaces a small file in one step: write aside → sync → rename → sync the directory.
 * There is one writer per file: the temporary name is fixed, and a leftover of a crash is replaced.
 *
 * @throws the system error of the step that failed; the old content is intact then.
 */
export async function commitFile(
  fs: FileSystem,
  path: string,
  content: Uint8Array,
  mode: CommitMode = 'durable',
): Promise<void> {
  const temporary = `${path}${TEMPORARY_SUFFIX}`;
  await removeFile(fs, temporary);
  const file = fs.create(temporary);
  try {
    file.append([content]);
    if (mode === 'durable') await file.datasync();
  } finally {
    await file.close();
  }
  await fs.rename(temporary, path);
  if (mode === 'durable') await fs.syncDirectory(dirname(path));
}

/** Removes a file; one that is missing is a success. Returns whether it was there. */
export async function removeFile(fs: FileSystem, path: string): Promise<boolean> {
  return ignoring('ENOENT', () => fs.unlink(path));
}

/** Removes an empty directory; one that is missing is a success. */
export async function removeEmptyDirectory(fs: FileSystem, path: string): Promise<boolean> {
  return ignoring('ENOENT', () => fs.removeDirectory(path));
}

/**
 * Creates a directory and its missing ancestors with mode 0700, and syncs the parent of each that
 * it created, or a power cut would take the whole tree although the files in it were synced.
 *
 * @throws EEXIST when a file has that name
 */
export async function makeDirectories(fs: FileSystem, path: string): Promise<void> {
  const found = await fs.stat(path);
  if (found?.kind === 'directory') return;
  const parent = dirname(path);
  if ((await fs.stat(parent))?.kind === 'directory') await syncAgain(fs, dirname(parent));
  else await makeDirectories(fs, parent);
  const create = (): Promise<void> => fs.makeDirectory(path);
  // Two processes may create it at the same moment; the loser finds it there. Or it is a symbolic
  // link.
  if (found?.kind === 'file') await create();
  else await ignoring('EEXIST', create);
  await fs.syncDirectory(parent);
}

/**
 * A directory that is there and has none of our children may be the last that a killed process has
 * made, and not be synced into its parent yet. A parent that we may not read is nobody's who
 * creates there.
 */
async function syncAgain(fs: FileSystem, path: string): Promise<void> {
  await ignoring('EACCES', () => fs.syncDirectory(path));
}

/**
 * Removes a directory and the files in it, one level deep; one that is missing is a success. A
 * crash half way leaves fewer files.
 *
 * @throws ENOTEMPTY when somebody has put a new file there meanwhile.
 */
export async function removeDirectoryOfFiles(fs: FileSystem, path: string): Promise<void> {
  for (const name of await listIfPresent(fs, path)) await removeFile(fs, join(path, name));
  await removeEmptyDirectory(fs, path);
}

/** The names in a directory; none when the directory is missing. */
export async function listIfPresent(fs: FileSystem, path: string): Promise<string[]> {
  try {
    return await fs.list(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The content of a small file; undefined when it is missing. */
export async function readIfPresent(fs: FileSystem, path: string): Promise<Buffer | undefined> {
  try {
    return await fs.readFile(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

export function isTemporary(path: string): boolean {
  return basename(path).endsWith(TEMPORARY_SUFFIX);
}

async function ignoring(code: string, action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (systemCode(error) === code) return false;
    throw error;
  }
}

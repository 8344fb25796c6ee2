import { join } from 'node:path';
import { systemCode } from '../core/errors.js';
import {
  listIfPresent,
  removeDirectoryOfFiles,
  removeEmptyDirectory,
  removeFile,
} from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import { removeBell } from './bell.js';
import { runDirectory, runRecordPath, type SpoolLayout } from './layout.js';
import type { SealedSegment } from './listing.js';

/**
 * Removal, the uploader's side of "the writer creates files, the uploader deletes them".
 *
 * Only segments that an accepted range covers reach these functions (S4). Each step is idempotent
 * and needs no free space: if the process dies between any two, the next uploader sees a segment
 * that the destination's mark already covers and removes it without sending it again.
 */

/** Hides the way to the thread pool and back, which costs more than the removal. */
const REMOVALS_AT_ONCE = 16;

/**
 * Removes acknowledged segments. A file that is missing already is a success.
 *
 * @throws the system error of the first that could not be removed; all the others are gone
 */
export async function removeSegments(
  fs: FileSystem,
  directory: string,
  segments: readonly SealedSegment[],
): Promise<void> {
  const failures: unknown[] = [];
  const remove = async ({ name }: SealedSegment): Promise<void> => {
    await removeFile(fs, join(directory, name)).catch((error: unknown) => failures.push(error));
  };
  for (let at = 0; at < segments.length; at += REMOVALS_AT_ONCE) {
    await Promise.all(segments.slice(at, at + REMOVALS_AT_ONCE).map(remove));
  }
  if (segments.length > 0) await fs.syncDirectory(directory);
  if (failures.length > 0) throw failures[0];
}

/**
 * Removes a finished run: everything was accepted and the end is confirmed. The caller holds the
 * uploader's lock, which goes with the directory; its release afterwards finds nothing to do.
 *
 * `run.json` goes before the lock, so a rival that takes the lock in the last instant finds a
 * directory that holds neither record nor segments: the rest of a removal, which it removes.
 * Foreign files are left alone, and then so is the directory.
 */
export async function removeRun(fs: FileSystem, layout: SpoolLayout, runId: string): Promise<void> {
  const directory = runDirectory(layout, runId);
  const names = await listIfPresent(fs, directory);
  const locks = names.filter((name) => /^(writer|uploader)\.lock/.test(name));
  const files = names.filter((name) => /^(marks\.json(\.tmp)?|run\.json\.tmp)$/.test(name));
  for (const name of files) await removeFile(fs, join(directory, name));
  await removeFile(fs, runRecordPath(directory));
  await removeBell(fs, layout, runId);
  try {
    for (const name of locks) await removeDirectoryOfFiles(fs, join(directory, name));
    await removeEmptyDirectory(fs, directory);
    await fs.syncDirectory(layout.runs);
  } catch (error) {
    // Something foreign is in it, or a rival's new lock. It holds no entries, so nothing is lost by
    // leaving it.
    if (systemCode(error) !== 'ENOTEMPTY') throw error;
  }
}

import { join } from 'node:path';
import { ShipperError, reasonOf, systemCode } from '../core/errors.js';
import {
  isTemporary,
  makeDirectories,
  removeDirectoryOfFiles,
  TEMPORARY_SUFFIX,
} from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import { runDirectory, type SpoolLayout } from './layout.js';
import { writeRunRecord, type RunRecord } from './run-record.js';

/**
 * Creates a run before its command starts: identity and metadata are on disk before the first byte.
 *
 * The directory is made aside, filled with `run.json`, and becomes visible by one rename, so nobody ever
 * sees a run without its record. If the process dies before the rename, a directory with the ending
 * `.tmp` is left that holds no entries; the next run that is created removes it.
 *
 * @throws ShipperError `spool-unusable`; the spool holds nothing of this run then.
 */
export async function createRun(
  fs: FileSystem,
  layout: SpoolLayout,
  record: RunRecord,
): Promise<string> {
  const directory = runDirectory(layout, record.id);
  const prepared = `${directory}${TEMPORARY_SUFFIX}`;
  try {
    await makeDirectories(fs, layout.runs);
    await makeDirectories(fs, layout.wake);
    await fs.makeDirectory(prepared);
    await writeRunRecord(fs, prepared, record);
    await fs.rename(prepared, directory);
    await fs.syncDirectory(layout.runs);
    return directory;
  } catch (error) {
    throw unusable(layout, error);
  }
}

/** Removes what killed starts have left. `isDead` says whether the writer of a record is gone. */
export async function removeUnfinishedRuns(
  fs: FileSystem,
  layout: SpoolLayout,
  isDead: (directory: string) => Promise<boolean>,
): Promise<void> {
  for (const name of await fs.list(layout.runs)) {
    const directory = join(layout.runs, name);
    if (isTemporary(name) && (await isDead(directory))) await removeDirectoryOfFiles(fs, directory);
  }
}

function unusable(layout: SpoolLayout, error: unknown): ShipperError {
  return new ShipperError(
    'spool-unusable',
    `cannot use the spool ${layout.root}: ${reasonOf(error)}`,
    { hint: hintFor(systemCode(error)), cause: error },
  );
}

function hintFor(code: string | undefined): string {
  switch (code) {
    case 'ENOTDIR':
    case 'EEXIST':
      return 'that path is a file: choose a directory with --spool';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'choose a directory that you may write to with --spool';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'make room on that disk, or choose another with --spool';
    default:
      return 'choose another directory with --spool';
  }
}

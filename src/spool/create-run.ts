import { join } from 'node:path';
import { ShipperError, reasonOf, systemCode } from '../core/errors.js';
import { isRunId } from '../core/run-id.js';
import {
  isTemporary,
  listIfPresent,
  makeDirectories,
  removeDirectoryOfFiles,
  TEMPORARY_SUFFIX,
} from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import { hangBell, removeBell } from './bell.js';
import { runDirectory, type SpoolLayout } from './layout.js';
import type { ProcessIdentity } from './process-identity.js';
import { readRunRecord, writeRunRecord, type RunRecord } from './run-record.js';

/**
 * Creates a run before its command starts: identity and metadata are on disk before the first byte.
 *
 * The directory is made aside, filled with `run.json`, and becomes visible by one rename, so nobody
 * ever sees a run without its record. If the process dies
 * - before the rename: a directory with the ending `.tmp` is left that holds no entries, and
 *   `removeLeftovers` removes it;
 * - after it, before the bell hangs: there is a run without entries, of a dead writer, as any
 *   other.
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
    await fillAndShow(fs, layout, record, prepared);
    return directory;
  } catch (error) {
    throw unusable(layout, error);
  }
}

async function fillAndShow(
  fs: FileSystem,
  layout: SpoolLayout,
  record: RunRecord,
  prepared: string,
): Promise<void> {
  let own = prepared;
  try {
    await writeRunRecord(fs, prepared, record);
    await fs.rename(prepared, runDirectory(layout, record.id));
    own = runDirectory(layout, record.id);
    await fs.syncDirectory(layout.runs);
    await hangBell(fs, layout, record.id);
  } catch (error) {
    // What cannot be removed on a failing disk holds no entries, and is found later.
    await removeDirectoryOfFiles(fs, own).catch(() => undefined);
    throw error;
  }
}

/**
 * Removes what crashes have left beside the runs: starts that were killed, and bells of runs that
 * are gone. A start whose record does not say that its writer is dead may be under way, and is left
 * alone; and so is what cannot be read or removed: it holds no entries, and stops nobody.
 */
export async function removeLeftovers(
  fs: FileSystem,
  layout: SpoolLayout,
  isDead: (writer: ProcessIdentity) => boolean,
): Promise<void> {
  // The bells are listed first: a run is there before its bell hangs.
  const bells = (await listIfPresent(fs, layout.wake)).filter(isRunId);
  const names = await listIfPresent(fs, layout.runs);
  const present = new Set(names);
  for (const id of bells.filter((bell) => !present.has(bell))) {
    await removeBell(fs, layout, id).catch(() => undefined);
  }
  for (const name of names.filter(isTemporary)) {
    const runId = name.slice(0, -TEMPORARY_SUFFIX.length);
    await removeUnfinished(fs, join(layout.runs, name), runId, isDead).catch(() => undefined);
  }
}

async function removeUnfinished(
  fs: FileSystem,
  directory: string,
  runId: string,
  isDead: (writer: ProcessIdentity) => boolean,
): Promise<void> {
  const { writer } = (await readRunRecord(fs, directory, runId)).record;
  if (writer !== null && isDead(writer)) await removeDirectoryOfFiles(fs, directory);
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
    case undefined:
    default:
      return 'choose another directory with --spool';
  }
}

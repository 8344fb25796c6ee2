import { systemCode } from '../core/errors.js';
import type { FileSystem } from '../disk/file-system.js';
import { removeFile } from '../disk/durable.js';
import { bellPath, type SpoolLayout } from './layout.js';

/**
 * Tells whoever watches `wake/` that a run has something new. A folder of segments is never watched
 * itself: with 100,000 files that costs seconds and hundreds of megabytes, a bell costs a millisecond.
 * A ring that gets lost costs time only: uploaders also rescan.
 */
export async function ringBell(fs: FileSystem, layout: SpoolLayout, runId: string): Promise<void> {
  const path = bellPath(layout, runId);
  const file = openBell(fs, path);
  try {
    // A change of content is what watchers report reliably; one byte per seal stays small.
    await file.truncate(0);
    file.append([Buffer.from('.')]);
  } finally {
    await file.close();
  }
}

function openBell(fs: FileSystem, path: string): ReturnType<FileSystem['create']> {
  try {
    return fs.openAppend(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    return fs.create(path);
  }
}

/** Once the run is gone. */
export async function removeBell(
  fs: FileSystem,
  layout: SpoolLayout,
  runId: string,
): Promise<void> {
  await removeFile(fs, bellPath(layout, runId));
}

import type { FileSystem } from '../disk/file-system.js';
import { removeFile } from '../disk/durable.js';
import { bellPath, type SpoolLayout } from './layout.js';

/**
 * Tells whoever watches `wake/` that a run has something new. A folder of segments is never watched
 * itself: with 100,000 files that costs seconds and hundreds of megabytes, a bell costs a
 * millisecond. A ring that gets lost costs time only: uploaders also rescan.
 *
 * Only `createRun` hangs a bell, so that a ring that comes late, when the run is delivered and
 * gone, leaves nothing behind.
 *
 * @throws the system error; ENOENT when the run has no bell.
 */
export async function ringBell(fs: FileSystem, layout: SpoolLayout, runId: string): Promise<void> {
  const file = fs.openAppend(bellPath(layout, runId));
  try {
    // A change of content is what watchers report reliably; one byte per seal stays small.
    await file.truncate(0);
    file.append([Buffer.from('.')]);
  } finally {
    await file.close();
  }
}

/** For a new run. @throws the system error; EEXIST when it has one. */
export async function hangBell(fs: FileSystem, layout: SpoolLayout, runId: string): Promise<void> {
  await fs.create(bellPath(layout, runId)).close();
}

/** Once the run is gone. */
export async function removeBell(
  fs: FileSystem,
  layout: SpoolLayout,
  runId: string,
): Promise<void> {
  await removeFile(fs, bellPath(layout, runId));
}

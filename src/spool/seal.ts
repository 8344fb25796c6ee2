import { join } from 'node:path';
import type { StreamName } from '../core/stream.js';
import type { AppendFile, FileSystem } from '../disk/file-system.js';
import { openSegmentName, sealedSegmentName } from './segment-name.js';

/**
 * What a power cut may cost: see the README's table. A killed process costs nothing in any mode.
 */
export type FsyncMode = 'always' | 'segment' | 'never';

/** A segment that gets no more frames and is still to be sealed. */
export interface ClosedSegment {
  readonly stream: StreamName;
  readonly file: AppendFile;
  readonly first: number;
  readonly entries: number;
  /** Bytes of whole frames. */
  readonly bytes: number;
  /** A failed write may have left part of a frame behind them. */
  readonly hasTornTail: boolean;
}

/**
 * Seals a segment: S3, `.open` → `.seg` is one rename, after the bytes are synced; the directory is
 * synced after the rename.
 *
 * If the process dies
 * - before the rename: recovery finds an `.open` file and seals the same frames;
 * - after it: the segment is sealed; only a power cut before the directory sync may undo the
 *   rename.
 *
 * @throws the system error of the step that failed. The `.open` file is still there then, with
 *   every frame that was written; recovery seals it.
 */
export async function sealSegment(
  fs: FileSystem,
  directory: string,
  segment: ClosedSegment,
  fsync: FsyncMode,
): Promise<void> {
  const { file, stream, first } = segment;
  try {
    if (segment.hasTornTail) await file.truncate(segment.bytes);
    if (fsync !== 'never' && segment.entries > 0) await file.datasync();
  } finally {
    await file.close();
  }
  const open = join(directory, openSegmentName(stream, first));
  if (segment.entries === 0) {
    await fs.unlink(open);
    return;
  }
  const last = first + segment.entries - 1;
  await fs.rename(open, join(directory, sealedSegmentName(stream, first, last)));
  if (fsync !== 'never') await fs.syncDirectory(directory);
}

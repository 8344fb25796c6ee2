import { crc32 } from 'node:zlib';
import type { AppendFile, FileSystem } from '../disk/file-system.js';
import { lastSeqOf } from '../frames/frame.js';
import { parseIndexLine, type IndexEntry } from './index-line.js';

/** Longer than any index line: a window of this size holds whole ones, however the last was torn. */
const WINDOW_BYTES = 256 * 1024;

const NEWLINE = 0x0a;

/** Where a stream of the archive stands. */
export interface RecoveredStream {
  readonly mark: number;
  /** Length of the `.log`. */
  readonly bytes: number;
  /** Gap entries in the index. */
  readonly gaps: number;
}

/**
 * Opens a stream's two files after a kill or a power cut: everything up to the last intact index line
 * stays, and what is beyond it in either file is cut. An index line is intact when it is whole, continues
 * the one before, and its bytes are in the log; of the last one the checksum is compared too.
 *
 * Idempotent: if the process dies here, the next opening comes to the same end. Files that are missing
 * are created.
 */
export async function recoverStream(
  fs: FileSystem,
  directory: string,
  log: string,
  index: string,
): Promise<RecoveredStream> {
  const isNew = (await fs.stat(log)) === undefined || (await fs.stat(index)) === undefined;
  await createIfMissing(fs, log);
  await createIfMissing(fs, index);
  if (isNew) await fs.syncDirectory(directory);
  const logBytes = (await fs.stat(log))?.sizeBytes ?? 0;
  const intact = await intactIndex(fs, index, log, logBytes);
  await cutTo(fs, log, intact.bytes, logBytes);
  await cutTo(fs, index, intact.indexBytes, (await fs.stat(index))?.sizeBytes ?? 0);
  return intact;
}

interface IntactIndex extends RecoveredStream {
  readonly indexBytes: number;
}

const EMPTY: IntactIndex = { mark: 0, bytes: 0, gaps: 0, indexBytes: 0 };

/** Two of the states are kept: when the last line's bytes are not what it says, the one before holds. */
async function intactIndex(
  fs: FileSystem,
  index: string,
  log: string,
  logBytes: number,
): Promise<IntactIndex> {
  let before = EMPTY;
  let last = EMPTY;
  let lastEntry: IndexEntry | undefined;
  await eachLine(fs, index, (line) => {
    const entry = parseIndexLine(line);
    if (entry === undefined || !continues(last, entry, logBytes)) return false;
    before = last;
    lastEntry = entry;
    last = {
      mark: lastSeqOf(entry.header),
      bytes: entry.at + entry.header.len,
      gaps: last.gaps + (entry.header.gap === undefined ? 0 : 1),
      indexBytes: last.indexBytes + line.length + 1,
    };
    return true;
  });
  if (lastEntry === undefined || (await isInLog(fs, log, lastEntry))) return last;
  return before;
}

function continues(last: IntactIndex, { header, at }: IndexEntry, logBytes: number): boolean {
  return header.seq === last.mark + 1 && at === last.bytes && at + header.len <= logBytes;
}

async function isInLog(fs: FileSystem, log: string, entry: IndexEntry): Promise<boolean> {
  const body = Buffer.allocUnsafe(entry.header.len);
  const file = await fs.openRead(log);
  try {
    await file.read(body, entry.at);
  } finally {
    await file.close();
  }
  return crc32(body, entry.parsed.crcSoFar) === entry.parsed.crc;
}

/** Hands on each whole line without its newline, in bounded memory, until `take` returns false. */
async function eachLine(
  fs: FileSystem,
  path: string,
  take: (line: Buffer) => boolean,
): Promise<void> {
  const file = await fs.openRead(path);
  try {
    const window = Buffer.allocUnsafe(WINDOW_BYTES);
    for (let at = 0; at < file.size;) {
      const filled = window.subarray(0, await file.read(window, at));
      let used = 0;
      for (;;) {
        const newline = filled.indexOf(NEWLINE, used);
        if (newline === -1) break;
        if (!take(filled.subarray(used, newline))) return;
        used = newline + 1;
      }
      // What is left is the beginning of a line, or no line at all.
      if (used === 0) return;
      at += used;
    }
  } finally {
    await file.close();
  }
}

async function createIfMissing(fs: FileSystem, path: string): Promise<void> {
  if ((await fs.stat(path)) === undefined) await fs.create(path).close();
}

async function cutTo(fs: FileSystem, path: string, length: number, size: number): Promise<void> {
  if (size === length) return;
  const file: AppendFile = fs.openAppend(path);
  try {
    await file.truncate(length);
    await file.datasync();
  } finally {
    await file.close();
  }
}

import { crc32 } from 'node:zlib';
import type { FileSystem } from '../disk/file-system.js';
import { lastSeqOf, MAX_HEADER_BYTES } from '../frames/frame.js';
import type { Logger } from '../telemetry/log.js';
import type { IndexEntry } from './index-line.js';
import { eachLineFromEnd } from './read-index.js';

/** Where a stream of the archive stands: what was acknowledged of it. */
export interface StreamState {
  /** The highest sequence. */
  readonly mark: number;
  /** Length of the `.log`. */
  readonly bytes: number;
  /** Length of the index. */
  readonly indexBytes: number;
}

/** A header, and where its body lies. */
const INDEX_LINE_MAX_BYTES = MAX_HEADER_BYTES + 64;

const EMPTY: StreamState = { mark: 0, bytes: 0, indexBytes: 0 };

export interface StreamFiles {
  readonly directory: string;
  readonly log: string;
  readonly index: string;
}

/**
 * Where a stream stands after a kill or a power cut, from its two files: at the last intact line of
 * the index. Bytes are synced before their index lines are written, so a line whose body is in the
 * log proves everything before it, and finding it needs the end of the index alone, however long
 * that is.
 *
 * What lies beyond it in either file is cut: nobody was told that it is stored. What stays is
 * synced, because a killed process may have died before its own sync, and senders are told the mark
 * from now on. Idempotent: if the process dies here, the next recovery comes to the same end. Files
 * that are missing are created. A log without a single index line is not cut but set aside, and
 * said: it may be all that is left. An intact line whose bytes are not in the log is said, too: the
 * disk has lost what was synced.
 *
 * @throws the system error; what was acknowledged is as it was
 */
export async function recoverStream(
  fs: FileSystem,
  log: Logger,
  files: StreamFiles,
): Promise<StreamState> {
  await createIfMissing(fs, files.log);
  const isNewIndex = await createIfMissing(fs, files.index);
  await fs.syncDirectory(files.directory);
  const logBytes = (await fs.stat(files.log))?.sizeBytes ?? 0;
  const { state, missing } = await lastIntact(fs, files, logBytes);
  if (missing > 0) {
    const lost = { file: files.log, lines: missing, mark: state.mark };
    log.error(lost, 'a log lacks bytes that its index knows: the stream goes back to its mark');
  }
  if (state === EMPTY && logBytes > 0) {
    // A first append that was cut off looks like that; so does an index that somebody has emptied.
    const isKnownLoss = isNewIndex || (await beginsWithLine(fs, files.index));
    const aside = { file: await setAside(fs, files) };
    if (isKnownLoss) log.error(aside, 'a log has no intact index line any more: it was set aside');
    else log.warn(aside, 'bytes that no index line speaks of yet were set aside');
  }
  await cutTo(fs, files, state);
  return state;
}

/**
 * Cuts both files to a known state, as after an append that failed, and syncs them. The index goes
 * first: no line outlives its bytes, wherever the process dies.
 */
export async function cutTo(fs: FileSystem, files: StreamFiles, state: StreamState): Promise<void> {
  await cutFile(fs, files.index, state.indexBytes);
  await cutFile(fs, files.log, state.bytes);
}

/**
 * The state at the last line whose bytes are there, and how many intact lines after it have none.
 */
async function lastIntact(
  fs: FileSystem,
  files: StreamFiles,
  logBytes: number,
): Promise<{ state: StreamState; missing: number }> {
  let state = EMPTY;
  let missing = 0;
  await eachLineFromEnd(fs, files.index, async (entry, lineEnd) => {
    const { header, at } = entry;
    if (at + header.len > logBytes || !(await isInLog(fs, files.log, entry))) {
      missing += 1;
      return true;
    }
    state = { mark: lastSeqOf(header), bytes: at + header.len, indexBytes: lineEnd };
    return false;
  });
  return { state, missing };
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

async function createIfMissing(fs: FileSystem, path: string): Promise<boolean> {
  if ((await fs.stat(path)) !== undefined) return false;
  await fs.create(path).close();
  return true;
}

/** Whether an index has a whole first line, intact or not. */
async function beginsWithLine(fs: FileSystem, path: string): Promise<boolean> {
  const start = Buffer.alloc(INDEX_LINE_MAX_BYTES);
  const file = await fs.openRead(path);
  try {
    await file.read(start, 0);
  } finally {
    await file.close();
  }
  return start.includes('\n');
}

/** Moves a log out of the way, and begins a new one. Returns where the old one is. */
async function setAside(fs: FileSystem, files: StreamFiles): Promise<string> {
  let aside = `${files.log}.damaged`;
  for (let number = 1; (await fs.stat(aside)) !== undefined; number += 1) {
    aside = `${files.log}.damaged-${String(number)}`;
  }
  await fs.rename(files.log, aside);
  await fs.create(files.log).close();
  await fs.syncDirectory(files.directory);
  return aside;
}

async function cutFile(fs: FileSystem, path: string, length: number): Promise<void> {
  const size = (await fs.stat(path))?.sizeBytes ?? 0;
  const file = fs.openAppend(path);
  try {
    if (size > length) await file.truncate(length);
    await file.datasync();
  } finally {
    await file.close();
  }
}

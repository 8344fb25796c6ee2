import { createHash, type Hash } from 'node:crypto';
import { assert } from '../core/assert.js';
import type { AppendFile, FileSystem, ReadFile } from '../disk/file-system.js';
import { entryOffset } from '../frames/entries.js';
import { lastSeqOf } from '../frames/frame.js';
import type { PlacedFrame } from '../frames/scan.js';
import type { Logger } from '../telemetry/log.js';
import { encodeIndexLine, type IndexEntry } from './index-line.js';
import { eachLineFromEnd } from './read-index.js';
import { cutTo, recoverStream, type StreamFiles, type StreamState } from './recovery.js';

/** For reading a `.log` again: large enough to be fast, small enough not to be felt. */
const READ_CHUNK_BYTES = 1024 * 1024;

/** What a sender says is stored already, from a sequence on up to the mark. */
export interface Overlap {
  readonly from: number;
  /** The bytes of its entries, in order. */
  readonly parts: readonly Buffer[];
  /** Sequences of its gap entries, ascending. */
  readonly gaps: readonly number[];
}

/** Contiguous frames in a buffer, to be appended. */
export interface FrameRun {
  readonly bytes: Buffer;
  readonly frames: readonly PlacedFrame[];
}

export interface StreamArchiveParts {
  readonly fs: FileSystem;
  readonly log: Logger;
}

/**
 * One stream of a run in the archive: the `.log`, its index, and the mark, which is the last
 * sequence in the index.
 *
 * - The bytes are synced before their index lines are written, and the index is synced before the
 *   mark moves. So what was acknowledged survives a power cut.
 * - If the process dies between any two steps, opening goes back to the last intact index line: the
 *   mark is the same after a kill at any moment (`recovery.ts`).
 * - An append that fails leaves files of which the page cache may say more than the disk. Nothing
 *   of it is believed: the next opening is told the state to go back to.
 * - One process per archive: this class does not guard against a second one.
 */
export class StreamArchive {
  readonly #fs: FileSystem;
  readonly #files: StreamFiles;
  readonly #log: AppendFile;
  readonly #index: AppendFile;
  #state: StreamState;
  /** True while files and state may disagree: during an append, and after one that failed. */
  #isBroken = false;
  /** Of the whole log; undefined after a restart until somebody asks. */
  #digest: Hash | undefined;

  private constructor(
    fs: FileSystem,
    files: StreamFiles,
    opened: { readonly log: AppendFile; readonly index: AppendFile },
    state: StreamState,
  ) {
    this.#fs = fs;
    this.#files = files;
    this.#log = opened.log;
    this.#index = opened.index;
    this.#state = state;
    this.#digest = state.bytes === 0 ? createHash('sha256') : undefined;
  }

  /**
   * Opens and recovers it, or creates it empty.
   *
   * @param known the state before an append that failed; what the files say beyond it is not
   *   believed
   * @throws the system error; nothing that was acknowledged is lost
   */
  static async open(
    { fs, log }: StreamArchiveParts,
    files: StreamFiles,
    known?: StreamState,
  ): Promise<StreamArchive> {
    if (known !== undefined) await cutTo(fs, files, known);
    const state = await recoverStream(fs, log, files);
    const opened = await openBoth(fs, files);
    return new StreamArchive(fs, files, opened, state);
  }

  get mark(): number {
    return this.#state.mark;
  }

  get bytes(): number {
    return this.#state.bytes;
  }

  /** What was acknowledged: where to go back to after an append that failed. */
  get state(): StreamState {
    return this.#state;
  }

  /**
   * Appends frames that continue the mark, durably; several runs of them share the syncs.
   *
   * @throws the system error. The files may hold more than the mark says then: close it, and open
   *   it again, which cuts them back.
   */
  async append(runs: readonly FrameRun[]): Promise<void> {
    assert(!this.#isBroken, 'a stream whose files failed is opened again before it is used');
    this.#isBroken = true;
    const bodies: Buffer[] = [];
    let lines = '';
    let { mark, bytes: at } = this.#state;
    for (const { bytes, frames } of runs) {
      for (const frame of frames) {
        if (frame.len > 0) bodies.push(bytes.subarray(frame.bodyStart, frame.end));
        lines += encodeIndexLine(bytes, frame, at);
        at += frame.len;
        mark = lastSeqOf(frame);
      }
    }
    await this.#write(bodies, Buffer.from(lines, 'latin1'));
    this.#state = { mark, bytes: at, indexBytes: this.#state.indexBytes + lines.length };
    this.#isBroken = false;
  }

  async #write(bodies: readonly Buffer[], lines: Buffer): Promise<void> {
    const written = bodies.length === 0 ? undefined : this.#log.appendAsync(bodies);
    const digest = this.#digest;
    this.#digest = undefined;
    // While the thread pool writes, this thread hashes.
    for (const body of bodies) digest?.update(body);
    await written;
    if (written !== undefined) await this.#log.datasync();
    await this.#index.appendAsync([lines]);
    await this.#index.datasync();
    this.#digest = digest;
  }

  /**
   * Hex digest of everything in the `.log`; reads it again where a restart lost the running one.
   */
  async sha256(): Promise<string> {
    this.#digest ??= await this.#digestOfFile();
    return this.#digest.copy().digest('hex');
  }

  /** Whether that is what is stored: the check before an overlap is skipped. */
  async holds({ from, parts, gaps }: Overlap): Promise<boolean> {
    const expected = Buffer.concat(parts);
    const stored = await this.#storedFrom(from);
    if (stored === undefined || this.#state.bytes - stored.at !== expected.length) return false;
    // Gaps have no bytes, so that the bytes alone do not tell where they lie.
    if (stored.gaps.join() !== gaps.join()) return false;
    return (await this.#read(stored.at, expected.length)).equals(expected);
  }

  /**
   * Where a stored entry begins in the log, and the gap entries from it on, ascending; undefined
   * when the index does not tell.
   */
  async #storedFrom(sequence: number): Promise<{ at: number; gaps: number[] } | undefined> {
    let holder: IndexEntry | undefined;
    const gaps: number[] = [];
    await eachLineFromEnd(this.#fs, this.#files.index, (entry) => {
      const { seq, gap } = entry.header;
      if (gap !== undefined && seq >= sequence) gaps.push(seq);
      if (seq > sequence) return true;
      holder = entry;
      return false;
    });
    if (holder === undefined || lastSeqOf(holder.header) < sequence) return undefined;
    const body = await this.#read(holder.at, holder.header.len);
    const at = holder.at + entryOffset(body, sequence - holder.header.seq);
    return { at, gaps: gaps.reverse() };
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    const file = await this.#fs.openRead(this.#files.log);
    try {
      return bytes.subarray(0, await file.read(bytes, offset));
    } finally {
      await file.close();
    }
  }

  async close(): Promise<void> {
    await this.#log.close();
    await this.#index.close();
  }

  async #digestOfFile(): Promise<Hash> {
    const digest = createHash('sha256');
    const file = await this.#fs.openRead(this.#files.log);
    try {
      await readThrough(file, this.#state.bytes, (chunk) => digest.update(chunk));
    } finally {
      await file.close();
    }
    return digest;
  }
}

async function openBoth(
  fs: FileSystem,
  files: StreamFiles,
): Promise<{ log: AppendFile; index: AppendFile }> {
  const log = fs.openAppend(files.log);
  try {
    return { log, index: fs.openAppend(files.index) };
  } catch (error) {
    await log.close();
    throw error;
  }
}

async function readThrough(
  file: ReadFile,
  size: number,
  take: (chunk: Buffer) => void,
): Promise<void> {
  const chunk = Buffer.allocUnsafe(READ_CHUNK_BYTES);
  for (let at = 0; at < size;) {
    const filled = await file.read(chunk.subarray(0, Math.min(chunk.length, size - at)), at);
    if (filled === 0) return;
    take(chunk.subarray(0, filled));
    at += filled;
  }
}

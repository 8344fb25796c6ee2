import { createHash, type Hash } from 'node:crypto';
import { assert } from '../core/assert.js';
import type { StreamName } from '../core/stream.js';
import type { AppendFile, FileSystem, ReadFile } from '../disk/file-system.js';
import { lastSeqOf } from '../frames/frame.js';
import type { PlacedFrame } from '../frames/scan.js';
import { encodeIndexLine } from './index-line.js';
import { indexPath, logPath } from './layout.js';
import { recoverStream } from './recovery.js';

/** For reading a `.log` again: large enough to be fast, small enough not to be felt. */
const READ_CHUNK_BYTES = 1024 * 1024;

/** Contiguous frames in a buffer, to be appended. */
export interface FrameRun {
  readonly bytes: Buffer;
  readonly frames: readonly PlacedFrame[];
}

/**
 * One stream of a run in the archive: the `.log`, its index, and the mark, which is the last sequence in
 * the index.
 *
 * - The bytes are synced before their index lines are written, and the index is synced before the mark
 *   moves. So what was acknowledged survives a power cut.
 * - If the process dies between any two steps, opening cuts the log back to the last intact index line:
 *   the mark is the same after a kill at any moment (`recovery.ts`).
 * - One process per archive: this class does not guard against a second one.
 */
export class StreamArchive {
  readonly #fs: FileSystem;
  readonly #logPath: string;
  readonly #log: AppendFile;
  readonly #index: AppendFile;
  #mark: number;
  #bytes: number;
  #gaps: number;
  /** True while files and mark may disagree: during an append, and after one that failed. */
  #isBroken = false;
  /** Of the first `#bytes` bytes; undefined after a restart until somebody asks. */
  #digest: Hash | undefined;

  private constructor(
    fs: FileSystem,
    files: { logPath: string; log: AppendFile; index: AppendFile },
    state: { mark: number; bytes: number; gaps: number },
  ) {
    this.#fs = fs;
    this.#logPath = files.logPath;
    this.#log = files.log;
    this.#index = files.index;
    this.#mark = state.mark;
    this.#bytes = state.bytes;
    this.#gaps = state.gaps;
    this.#digest = state.bytes === 0 ? createHash('sha256') : undefined;
  }

  /** Opens and recovers it, or creates it empty. @throws the system error; nothing is lost. */
  static async open(fs: FileSystem, directory: string, stream: StreamName): Promise<StreamArchive> {
    const log = logPath(directory, stream);
    const index = indexPath(directory, stream);
    const state = await recoverStream(fs, directory, log, index);
    const files = { logPath: log, log: fs.openAppend(log), index: fs.openAppend(index) };
    return new StreamArchive(fs, files, state);
  }

  get mark(): number {
    return this.#mark;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get gaps(): number {
    return this.#gaps;
  }

  /**
   * Appends frames that continue the mark, durably; several runs of them share the syncs.
   *
   * @throws the system error. The files may hold more than the mark says then: close it, and open it
   *   again, which cuts them back.
   */
  async append(runs: readonly FrameRun[]): Promise<void> {
    assert(!this.#isBroken, 'a stream whose files failed is opened again before it is used');
    this.#isBroken = true;
    const bodies: Buffer[] = [];
    let lines = '';
    let at = this.#bytes;
    let mark = this.#mark;
    let gaps = 0;
    for (const { bytes, frames } of runs) {
      for (const frame of frames) {
        if (frame.len > 0) bodies.push(bytes.subarray(frame.bodyStart, frame.end));
        lines += encodeIndexLine(bytes, frame, at);
        at += frame.len;
        mark = lastSeqOf(frame);
        if (frame.gap !== undefined) gaps += 1;
      }
    }
    const written = bodies.length === 0 ? undefined : this.#log.appendAsync(bodies);
    const digest = this.#digest;
    this.#digest = undefined;
    // While the thread pool writes, this thread hashes.
    for (const body of bodies) digest?.update(body);
    await written;
    if (written !== undefined) await this.#log.datasync();
    await this.#index.appendAsync([Buffer.from(lines, 'latin1')]);
    await this.#index.datasync();
    this.#digest = digest;
    this.#bytes = at;
    this.#mark = mark;
    this.#gaps += gaps;
    this.#isBroken = false;
  }

  /** Hex digest of everything in the `.log`; reads it again where a restart lost the running one. */
  async sha256(): Promise<string> {
    this.#digest ??= await this.#digestOfFile();
    return this.#digest.copy().digest('hex');
  }

  /** Whether the newest bytes of the log are these: the check before an overlap is skipped. */
  async endsWith(parts: readonly Buffer[]): Promise<boolean> {
    const expected = Buffer.concat(parts);
    if (expected.length > this.#bytes) return false;
    const stored = Buffer.allocUnsafe(expected.length);
    const file = await this.#fs.openRead(this.#logPath);
    try {
      await file.read(stored, this.#bytes - expected.length);
    } finally {
      await file.close();
    }
    return stored.equals(expected);
  }

  async close(): Promise<void> {
    await this.#log.close();
    await this.#index.close();
  }

  async #digestOfFile(): Promise<Hash> {
    const digest = createHash('sha256');
    const file = await this.#fs.openRead(this.#logPath);
    try {
      await readThrough(file, this.#bytes, (chunk) => digest.update(chunk));
    } finally {
      await file.close();
    }
    return digest;
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

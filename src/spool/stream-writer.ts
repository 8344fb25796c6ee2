import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../core/clock.js';
import { systemCode } from '../core/errors.js';
import type { StreamTotals } from '../core/run.js';
import type { StreamName } from '../core/stream.js';
import type { AppendFile, FileSystem } from '../disk/file-system.js';
import { countEntries, entryOffset } from '../frames/entries.js';
import { encodeHeader, MAX_BODY_BYTES, type Gap, type GapReason } from '../frames/frame.js';
import { sealSegment, type FsyncMode } from './seal.js';
import { SealTimer } from './seal-timer.js';
import { openSegmentName } from './segment-name.js';

/**
 * The writer of one stream: frames go to its `.open` file as they come, and full, old or ended
 * files are sealed behind its back, one after the other.
 *
 * - S1: a sequence is given when its frame is on disk; a frame that was not written gives none, and
 *   the next one that is written is preceded by a gap entry that stands for what was dropped.
 * - S2: a file gets no more frames once its seal has begun, nor after a failed sync, which is
 *   final.
 * - What a failed write has left behind is cut off before the next one: one failure costs one
 *   frame.
 * - `append` is one system call into the page cache and never waits for a sync, so a killed process
 *   loses nothing that was appended, and a slow disk shows as `pressure`, not as a stall.
 *
 * If the process dies at any moment, recovery seals what the `.open` files hold (`recovery.ts`).
 */
export interface WriterContext {
  readonly fs: FileSystem;
  readonly directory: string;
  readonly clock: Clock;
  readonly settings: WriterSettings;
  /** Numbers the frames of all streams of the run in the order of their reads. */
  readonly nextOrder: () => number;
  readonly onSealed: () => void;
  readonly onTrouble: (trouble: WriterTrouble) => void;
}

export interface WriterSettings {
  readonly segmentMaxBytes: number;
  readonly segmentMaxEntries: number;
  readonly flushIntervalMs: number;
  readonly fsync: FsyncMode;
}

export type WriterTrouble =
  /** Entries that were not written; they will be a gap entry. */
  | { readonly kind: 'dropped'; readonly gap: Gap; readonly error: unknown }
  /** The frames are in an `.open` file, which the next `drain` will seal. */
  | { readonly kind: 'seal-failed'; readonly stream: StreamName; readonly error: unknown };

/**
 * Files that wait for their sync at once. More would only use up descriptors: the disk is the
 * limit.
 */
const MAX_PENDING_SEALS = 8;

/** More than any header of ours takes. */
const HEADER_RESERVE_BYTES = 256;

interface OpenSegment {
  readonly file: AppendFile;
  readonly first: number;
  /** Of whole frames. 0 only before the first one is written: then the name is still to be used. */
  entries: number;
  /** Bytes of whole frames. */
  bytes: number;
  /** A failed write may have left part of a frame behind them. */
  hasTornTail: boolean;
  /** Nothing is known of the bytes on the platter any more: only recovery may seal the file. */
  syncFailure: SealFailure | undefined;
}

interface SealFailure {
  readonly error: unknown;
}

export class StreamWriter {
  readonly stream: StreamName;
  readonly #context: WriterContext;
  readonly #timer: SealTimer;
  readonly #digest = createHash('sha256');
  #open: OpenSegment | undefined;
  #nextSeq = 1;
  #bytes = 0;
  #gaps = 0;
  #lastTimeNs = 0n;
  #dropped: Gap | undefined;
  #sealing: Promise<void> = Promise.resolve();
  #pendingSeals = 0;

  constructor(stream: StreamName, context: WriterContext) {
    this.stream = stream;
    this.#context = context;
    this.#timer = new SealTimer(context.clock, context.settings.flushIntervalMs, () => {
      if (this.#open !== undefined) this.#retire(this.#open);
    });
  }

  /**
   * Writes entries that were read together as one frame. The parts may be reused once it returns.
   * What cannot be written is dropped at once, counted, and reported through `onTrouble`; nothing
   * is thrown.
   *
   * @param parts the body; entries end anywhere in it
   * @param entries how many there are in all parts
   */
  append(parts: readonly Buffer[], entries: number): void {
    let length = 0;
    for (const part of parts) length += part.length;
    if (entries <= this.#roomForEntries() && length <= this.#frameMaxBytes()) {
      this.#appendFrame(parts, entries, length);
    } else {
      this.#appendInPieces(Buffer.concat(parts));
    }
  }

  /** Resolves when the disk has caught up; undefined while it keeps up. */
  pressure(): Promise<void> | undefined {
    return this.#pendingSeals < MAX_PENDING_SEALS ? undefined : this.#sealing;
  }

  /**
   * Seals what is open and waits for every seal. Nothing may be appended afterwards.
   */
  async close(): Promise<void> {
    if (this.#dropped !== undefined) this.#tryToWriteGap();
    if (this.#open !== undefined) this.#retire(this.#open);
    await this.#sealing;
  }

  /** Of what is on disk. Take it after `close`. */
  totals(): StreamTotals {
    const sha256 = this.#digest.copy().digest('hex');
    return { last: this.#nextSeq - 1, bytes: this.#bytes, sha256 };
  }

  get gaps(): number {
    return this.#gaps;
  }

  #roomForEntries(): number {
    const { segmentMaxEntries } = this.#context.settings;
    return segmentMaxEntries - (this.#open?.entries ?? 0) - (this.#dropped === undefined ? 0 : 1);
  }

  /** A reader refuses a longer body, however large a segment may be. */
  #frameMaxBytes(): number {
    return Math.min(this.#context.settings.segmentMaxBytes - HEADER_RESERVE_BYTES, MAX_BODY_BYTES);
  }

  /**
   * The rare case that a read holds more than fits in a segment: it becomes several frames, cut
   * between entries. A single entry that is larger than a segment may be makes one of its own.
   */
  #appendInPieces(body: Buffer): void {
    let rest = body;
    while (rest.length > 0) {
      const room = Math.max(this.#roomForEntries(), 1);
      const end = pieceEnd(rest, room, this.#frameMaxBytes());
      const piece = rest.subarray(0, end);
      this.#appendFrame([piece], countEntries(piece), piece.length);
      rest = rest.subarray(end);
    }
  }

  #appendFrame(parts: readonly Buffer[], entries: number, length: number): void {
    try {
      if (this.#dropped !== undefined) this.#writeGap(this.#dropped);
      this.#writeFrame(parts, entries, length);
      for (const part of parts) this.#digest.update(part);
      this.#bytes += length;
    } catch (error) {
      this.#drop(entries, length, error);
    }
  }

  #writeFrame(parts: readonly Buffer[], entries: number, length: number, gap?: Gap): void {
    const header = encodeHeader(
      {
        seq: this.#nextSeq,
        n: entries,
        t: this.#timeNs(),
        o: this.#context.nextOrder(),
        len: length,
        ...(gap === undefined ? {} : { gap }),
      },
      parts,
    );
    const segment = this.#segmentFor(header.length + length);
    writeWhole(segment, [header, ...parts]);
    const isFirst = segment.entries === 0;
    if (isFirst) this.#timer.start();
    segment.bytes += header.length + length;
    segment.entries += entries;
    this.#nextSeq += entries;
    const { fsync, segmentMaxEntries } = this.#context.settings;
    if (fsync === 'always') this.#syncNow(segment, isFirst);
    if (segment.entries >= segmentMaxEntries || segment.syncFailure !== undefined) {
      this.#retire(segment);
    }
  }

  /** The open segment, or a new one when this frame would make it too large. */
  #segmentFor(frameBytes: number): OpenSegment {
    const { fs, directory, settings } = this.#context;
    const current = this.#open;
    if (current !== undefined) {
      const fits = current.bytes + frameBytes <= settings.segmentMaxBytes;
      if (fits || current.entries === 0) return current;
      this.#retire(current);
    }
    const first = this.#nextSeq;
    const file = fs.create(join(directory, openSegmentName(this.stream, first)));
    const state = { entries: 0, bytes: 0, hasTornTail: false, syncFailure: undefined };
    this.#open = { file, first, ...state };
    return this.#open;
  }

  #timeNs(): string {
    const now = this.#context.clock.wallNs();
    if (now > this.#lastTimeNs) this.#lastTimeNs = now;
    return String(this.#lastTimeNs);
  }

  /**
   * The frame is written, whatever the sync says; but after a failure the file takes no other one.
   *
   * @param isNew the name of the file is still to be synced too
   */
  #syncNow(segment: OpenSegment, isNew: boolean): void {
    try {
      segment.file.datasyncNow();
      if (isNew) this.#context.fs.syncDirectoryNow(this.#context.directory);
    } catch (error) {
      segment.syncFailure = { error };
    }
  }

  #retire(segment: OpenSegment): void {
    this.#open = undefined;
    this.#timer.stop();
    this.#pendingSeals += 1;
    this.#sealing = this.#sealing.then(() => this.#seal(segment));
  }

  async #seal(segment: OpenSegment): Promise<void> {
    const { clock, onSealed, onTrouble } = this.#context;
    const startedMs = clock.monotonicMs();
    const failure = await this.#sealOrLeave(segment);
    this.#pendingSeals -= 1;
    this.#timer.sealed(clock.monotonicMs() - startedMs);
    if (failure === undefined) onSealed();
    else onTrouble({ kind: 'seal-failed', stream: this.stream, error: failure.error });
  }

  async #sealOrLeave(segment: OpenSegment): Promise<SealFailure | undefined> {
    const { fs, directory, settings } = this.#context;
    try {
      if (segment.syncFailure !== undefined) await segment.file.close();
      else await sealSegment(fs, directory, { ...segment, stream: this.stream }, settings.fsync);
      return segment.syncFailure;
    } catch (error) {
      return { error };
    }
  }

  #drop(entries: number, bytes: number, error: unknown): void {
    const before = this.#dropped ?? { entries: 0, bytes: 0, why: reasonFor(error) };
    this.#dropped = {
      entries: before.entries + entries,
      bytes: before.bytes + bytes,
      why: before.why,
    };
    const gap = { entries, bytes, why: reasonFor(error) };
    this.#context.onTrouble({ kind: 'dropped', gap, error });
  }

  #writeGap(gap: Gap): void {
    this.#writeFrame([], 1, 0, gap);
    this.#dropped = undefined;
    this.#gaps += 1;
  }

  /** At the end nothing follows that would carry the gap along. */
  #tryToWriteGap(): void {
    try {
      if (this.#dropped !== undefined) this.#writeGap(this.#dropped);
    } catch {
      // Still no room. The loss was reported when it happened; the totals say what is on disk.
    }
  }
}

/**
 * @throws the system error of the write; the file keeps its frames, and can be written to again.
 */
function writeWhole(segment: OpenSegment, parts: readonly Uint8Array[]): void {
  if (segment.hasTornTail) segment.file.truncateNow(segment.bytes);
  segment.hasTornTail = true;
  segment.file.append(parts);
  segment.hasTornTail = false;
}

/** Where to cut so that both bounds hold, at least one entry on. */
function pieceEnd(body: Buffer, maxEntries: number, maxBytes: number): number {
  const byEntries = entryOffset(body, maxEntries);
  if (byEntries <= maxBytes) return byEntries;
  const newline = body.lastIndexOf(0x0a, maxBytes - 1);
  return newline === -1 ? entryOffset(body, 1) : newline + 1;
}

function reasonFor(error: unknown): GapReason {
  const code = systemCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT' ? 'disk-full' : 'io-error';
}

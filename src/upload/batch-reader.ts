import { join } from 'node:path';
import { reasonOf, systemCode } from '../core/errors.js';
import type { FileSystem, ReadFile } from '../disk/file-system.js';
import { lastSeqOf } from '../frames/frame.js';
import { scanFrames, type PlacedFrame, type ScanEnd } from '../frames/scan.js';
import type { SealedSegment } from '../spool/listing.js';

/** Contiguous frames at the beginning of `buffer`, checksums compared. */
export interface ReadBatch {
  readonly kind: 'batch';
  readonly first: number;
  readonly last: number;
  readonly buffer: Buffer;
  readonly bytes: number;
  readonly frames: readonly PlacedFrame[];
}

export type BatchReading =
  | ReadBatch
  /** No sealed segment holds the sequence yet. */
  | { readonly kind: 'nothing' }
  /** The next bytes cannot be sent: missing, damaged or of a newer format. Where and why. */
  | { readonly kind: 'blocked'; readonly reason: string };

/** Files read for one batch; each costs some 20 µs, and others want their turn. */
const MAX_FILES_PER_BATCH = 4096;

/** All of it was taken; no more fits into the batch; or it cannot be read on. */
type SegmentReading = 'whole' | 'full' | { readonly trouble: string };

/** Where reading goes on inside a segment of which a part was read. */
interface Position {
  readonly name: string;
  readonly seq: number;
  readonly offset: number;
}

/**
 * Cuts the sealed segments of one stream into batches: small neighbours travel together, a large
 * segment in several pieces cut between frames. Files are read straight into the buffer that is
 * sent, and are not held open.
 */
export class BatchReader {
  readonly #fs: FileSystem;
  readonly #directory: string;
  #segments: readonly SealedSegment[] = [];
  #position: Position | undefined;

  constructor(fs: FileSystem, directory: string) {
    this.#fs = fs;
    this.#directory = directory;
  }

  /** What a new look at the directory has found; by first sequence. */
  setSegments(segments: readonly SealedSegment[]): void {
    this.#segments = segments;
  }

  /** The lowest sequence that is sealed; undefined when there is none. */
  get firstSealed(): number | undefined {
    return this.#segments[0]?.first;
  }

  /** The highest sequence that is sealed. */
  get lastSealed(): number {
    return this.#segments.at(-1)?.last ?? 0;
  }

  /**
   * The next batch from the frame that holds `from` on: at most `maxBytes`, but at least one frame.
   *
   * @param buffer holds any frame, however long
   */
  async read(from: number, maxBytes: number, buffer: Buffer): Promise<BatchReading> {
    const filler = new Filler(from, Math.min(maxBytes, buffer.length), buffer);
    let index = this.#indexOf(from);
    for (let files = 0; files < MAX_FILES_PER_BATCH && index < this.#segments.length; files += 1) {
      const segment = this.#segments[index];
      if (segment === undefined || segment.first > filler.next) break;
      const outcome = await this.#readSegment(segment, filler);
      if (outcome === 'full') return filler.batch();
      if (outcome !== 'whole') return this.#stopped(filler, outcome.trouble);
      index += 1;
    }
    if (filler.last >= from) return filler.batch();
    const missing = this.#segments[index];
    if (missing === undefined) return { kind: 'nothing' };
    return {
      kind: 'blocked',
      reason: `entries ${String(from)} to ${String(missing.first - 1)} are missing`,
    };
  }

  /** What was intact goes first; the trouble is met again as the beginning of the next batch. */
  #stopped(filler: Filler, reason: string): BatchReading {
    return filler.last >= filler.from ? filler.batch() : { kind: 'blocked', reason };
  }

  /** The first segment that may hold the sequence; they are sorted. */
  #indexOf(sequence: number): number {
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#segments[middle]?.last ?? 0) < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async #readSegment(segment: SealedSegment, filler: Filler): Promise<SegmentReading> {
    try {
      const file = await this.#fs.openRead(join(this.#directory, segment.name));
      try {
        return await this.#readFrames(segment, file, filler);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return { trouble: `${segment.name} has vanished` };
      return { trouble: `${segment.name} cannot be read: ${reasonOf(error)}` };
    }
  }

  async #readFrames(
    segment: SealedSegment,
    file: ReadFile,
    filler: Filler,
  ): Promise<SegmentReading> {
    const known = this.#position;
    let offset = known?.name === segment.name && known.seq === filler.next ? known.offset : 0;
    while (offset < file.size) {
      const taken = await filler.fill(file, offset);
      offset += taken.consumedBytes;
      this.#position = { name: segment.name, seq: filler.next, offset };
      if (offset >= file.size) break;
      if (taken.isFull) return 'full';
      if (taken.consumedBytes === 0) {
        return { trouble: `${segment.name} at byte ${String(offset)}: ${taken.why}` };
      }
    }
    if (filler.last === segment.last) return 'whole';
    return { trouble: `${segment.name} does not hold what its name says` };
  }
}

interface Taken {
  readonly consumedBytes: number;
  /** The next frame does not fit any more. */
  readonly isFull: boolean;
  /** The bytes ended in the middle of a frame: it may go on where more is read. */
  readonly isTorn: boolean;
  readonly why: string;
}

/** A batch while it is filled. */
class Filler {
  readonly from: number;
  last: number;
  readonly #maxBytes: number;
  readonly #buffer: Buffer;
  readonly #frames: PlacedFrame[] = [];
  #bytes = 0;

  constructor(from: number, maxBytes: number, buffer: Buffer) {
    this.from = from;
    this.last = from - 1;
    this.#maxBytes = maxBytes;
    this.#buffer = buffer;
  }

  /** The sequence that the batch needs next. */
  get next(): number {
    return this.last + 1;
  }

  batch(): ReadBatch {
    return {
      kind: 'batch',
      first: this.#frames[0]?.seq ?? this.from,
      last: this.last,
      buffer: this.#buffer,
      bytes: this.#bytes,
      frames: this.#frames,
    };
  }

  /** Takes the frames that lie at `offset`; those before the batch are passed over. */
  async fill(file: ReadFile, offset: number): Promise<Taken> {
    // No more is read than may be taken, or small batches would read a large segment many times.
    const taken = await this.#take(file, offset, this.#maxBytes);
    const isTooLarge = this.#bytes === 0 && taken.consumedBytes === 0 && taken.isTorn;
    return isTooLarge ? this.#take(file, offset, this.#buffer.length) : taken;
  }

  async #take(file: ReadFile, offset: number, limitBytes: number): Promise<Taken> {
    // A read that is not longer than its file is one small call, for a small file.
    const lengthBytes = Math.min(limitBytes - this.#bytes, file.size - offset);
    const target = this.#buffer.subarray(this.#bytes, this.#bytes + Math.max(0, lengthBytes));
    const filled = await file.read(target, offset);
    const { frames, end } = scanFrames(target.subarray(0, filled));
    const isTorn = end.kind === 'torn' || filled === 0;
    let consumedBytes = 0;
    for (const frame of frames) {
      if (lastSeqOf(frame) >= this.next) {
        if (!this.#continues(frame)) {
          return { consumedBytes, isFull: false, isTorn, why: 'a frame is missing' };
        }
        if (!this.#fits(frame)) return { consumedBytes, isFull: true, isTorn, why: '' };
        this.#place(frame, target);
      }
      consumedBytes = frame.end;
    }
    const isFull = isTorn && this.#bytes > 0 && offset + filled < file.size;
    return { consumedBytes, isFull, isTorn, why: reasonOfEnd(end) };
  }

  /** Only the first may begin before what is due: its destination skips what it has. */
  #continues(frame: PlacedFrame): boolean {
    return frame.seq === this.next || (this.#frames.length === 0 && frame.seq < this.next);
  }

  #fits(frame: PlacedFrame): boolean {
    return this.#frames.length === 0 || this.#bytes + frame.end - frame.start <= this.#maxBytes;
  }

  /**
   * Frames that are passed over leave a hole in front: it is closed, so that the body is one piece.
   */
  #place(frame: PlacedFrame, target: Buffer): void {
    const length = frame.end - frame.start;
    const at = this.#bytes;
    const source = target.byteOffset - this.#buffer.byteOffset + frame.start;
    if (source !== at) this.#buffer.copyWithin(at, source, source + length);
    const header = frame.bodyStart - frame.start;
    this.#frames.push({ ...frame, start: at, bodyStart: at + header, end: at + length });
    this.#bytes += length;
    this.last = lastSeqOf(frame);
  }
}

function reasonOfEnd(end: ScanEnd): string {
  return 'reason' in end ? end.reason : 'the last frame is not whole';
}

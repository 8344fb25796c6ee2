import type { StreamName } from '../core/stream.js';
import type { RunMetadata } from '../core/run.js';
import type { Batch } from '../sinks/sink.js';
import type { BatchReader, BatchReading, ReadBatch } from './batch-reader.js';
import type { BufferPool } from './buffer-pool.js';

/**
 * One stream on its way to one destination: what is confirmed (the mark), what was sent (the
 * cursor), and what is under way.
 *
 * The mark only ever rises, by what the destination has said. After anything else than a full
 * acceptance nothing new is sent until every request is back; then sending goes on after the mark.
 * Repeats are harmless where ranges are acknowledged, so this converges whatever was lost.
 */
export class StreamSender {
  readonly stream: StreamName;
  readonly #reader: BatchReader;
  readonly #maxInFlight: number;
  #maxBytes: number;
  #mark: number;
  #cursor: number;
  #highestSent: number;
  #inFlight = 0;
  #isReading = false;
  #isRewinding = false;
  #isUnproven: boolean;
  #blocked: string | undefined;

  constructor(
    stream: StreamName,
    reader: BatchReader,
    limits: { readonly maxBytes: number; readonly maxInFlight: number },
    mark: number,
  ) {
    this.stream = stream;
    this.#reader = reader;
    this.#maxBytes = limits.maxBytes;
    this.#maxInFlight = limits.maxInFlight;
    this.#mark = mark;
    this.#cursor = mark + 1;
    this.#highestSent = mark;
    this.#isUnproven = mark > 0 && reader.lastSealed === 0;
  }

  get mark(): number {
    return this.#mark;
  }

  /** A batch is being read, or under way. */
  get isBusy(): boolean {
    return this.#isReading || this.#inFlight > 0;
  }

  /**
   * The destination has told a mark that nothing here could vouch for, because everything before it
   * was removed; and now a segment appears that lies before it, which cannot have been sent.
   */
  get isContradicted(): boolean {
    const { firstSealed } = this.#reader;
    if (!this.#isUnproven || firstSealed === undefined) return false;
    this.#isUnproven = firstSealed <= this.#mark;
    return this.#isUnproven;
  }

  /** Why the next bytes cannot be sent; undefined while they can. */
  get blocked(): string | undefined {
    return this.#blocked;
  }

  /** A new look at the directory may have found what was missing. */
  unblock(): void {
    this.#blocked = undefined;
  }

  get canSend(): boolean {
    if (this.#isReading || this.#blocked !== undefined) return false;
    if (this.#isRewinding) return this.#inFlight === 0;
    return this.#inFlight < this.#maxInFlight && this.#cursor <= this.#reader.lastSealed;
  }

  /** Everything that is sealed is confirmed. */
  get isDone(): boolean {
    return this.#inFlight === 0 && this.#mark >= this.#reader.lastSealed;
  }

  /** Reads the next batch; undefined when there is none now. Every batch gets one `answered`. */
  async next(pool: BufferPool): Promise<ReadBatch | undefined> {
    if (this.#isRewinding) {
      this.#isRewinding = false;
      this.#cursor = this.#mark + 1;
    }
    this.#isReading = true;
    const buffer = pool.take();
    let reading: BatchReading;
    try {
      reading = await this.#reader.read(this.#cursor, this.#maxBytes, buffer);
    } finally {
      this.#isReading = false;
    }
    if (reading.kind === 'batch') {
      this.#cursor = reading.last + 1;
      this.#highestSent = Math.max(this.#highestSent, reading.last);
      this.#inFlight += 1;
      return reading;
    }
    pool.give(buffer);
    if (reading.kind === 'blocked') this.#blocked = reading.reason;
    return undefined;
  }

  describe(read: ReadBatch, run: RunMetadata, epoch: number): Batch {
    return {
      run,
      stream: this.stream,
      first: read.first,
      last: read.last,
      epoch,
      markAtSend: this.#mark,
      highestSent: this.#highestSent,
      body: read.buffer.subarray(0, read.bytes),
      frames: read.frames,
    };
  }

  /** Raises the mark; returns how many entries that settles. */
  accepted(batch: Batch, mark: number): number {
    this.#inFlight -= 1;
    const settled = Math.max(0, mark - this.#mark);
    this.#mark = Math.max(this.#mark, mark);
    if (mark < batch.last) this.#isRewinding = true;
    return settled;
  }

  /** The batch was not taken: what follows the mark is sent again. */
  refused(): void {
    this.#inFlight -= 1;
    this.#isRewinding = true;
  }

  /**
   * It was too large: the next one is at most half of it. False when it was a single frame already.
   */
  halve(batch: Batch): boolean {
    this.refused();
    this.#maxBytes = Math.max(1, Math.floor(batch.body.length / 2));
    return batch.frames.length > 1;
  }
}

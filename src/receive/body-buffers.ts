import { MAX_BATCH_BYTES } from '../archive/append-request.js';

/** Bodies above this get a buffer that is used again. Senders with a backlog send full batches. */
const LARGE_BYTES = MAX_BATCH_BYTES / 2;

/** One for each request that a sender has under way at most. Idle, they hold this much memory. */
const KEPT_BUFFERS = 4;

/**
 * Buffers for request bodies. Large ones are used again: the first touch of fresh pages and their
 * collection cost as much as reading the body does, and what is not collected yet is memory, too.
 */
export class BodyBuffers {
  readonly #free: Buffer[] = [];

  /** A buffer of that length, at most `MAX_BATCH_BYTES`, with anything in it. */
  take(lengthBytes: number): Buffer {
    if (lengthBytes <= LARGE_BYTES) return Buffer.allocUnsafeSlow(lengthBytes);
    const whole = this.#free.pop() ?? Buffer.allocUnsafeSlow(MAX_BATCH_BYTES);
    return whole.subarray(0, lengthBytes);
  }

  /** Nobody may look at it any more. */
  giveBack(buffer: Buffer): void {
    if (buffer.length <= LARGE_BYTES || this.#free.length >= KEPT_BUFFERS) return;
    this.#free.push(Buffer.from(buffer.buffer));
  }
}

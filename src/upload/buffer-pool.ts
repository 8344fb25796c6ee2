/** Buffers of one size that are used again, so that memory is bounded by the batches under way. */
export class BufferPool {
  readonly #sizeBytes: number;
  readonly #free: Buffer[] = [];

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#sizeBytes);
  }

  /** Only what nobody reads any more: after a failed request leave the buffer to the collector. */
  give(buffer: Buffer): void {
    this.#free.push(buffer);
  }
}

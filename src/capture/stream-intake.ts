import { LineAssembler, type EntrySink } from './line-assembler.js';
import type { PassThrough } from './pass-through.js';

export interface StreamIntakeParts {
  readonly maxEntryBytes: number;
  /** An unfinished line goes to disk once it is this old. */
  readonly flushIntervalMs: number;
  readonly append: EntrySink;
  /** Resolves when the disk has caught up; undefined while it keeps up. */
  readonly pressure: () => Promise<void> | undefined;
  /** Undefined: the output is not copied to ours. */
  readonly passThrough: PassThrough | undefined;
}

/**
 * Where the reads of one stream go, whoever reads: to disk, and then to our own output, in the same
 * turn of the event loop.
 */
export class StreamIntake {
  readonly #parts: StreamIntakeParts;
  readonly #assembler: LineAssembler;
  #flushTimer: NodeJS.Timeout | undefined;
  /** What the next read has to wait for. */
  #pause: Promise<void> | undefined;

  constructor(parts: StreamIntakeParts) {
    this.#parts = parts;
    this.#assembler = new LineAssembler(parts.maxEntryBytes, parts.append);
  }

  /**
   * Takes one read. Undefined: go on, the chunk may be reused. A promise: read on, and reuse the
   * chunk, only once it resolves, because our own output or the disk cannot take more. So the child
   * waits in the kernel, as it would without us, and memory stays bounded.
   */
  take(chunk: Buffer): Promise<void> | undefined {
    const heldBefore = this.#assembler.heldBytes;
    this.#assembler.push(chunk);
    this.#armFlush(this.#assembler.heldBytes === heldBefore + chunk.length);
    const written = this.#parts.passThrough?.write(chunk);
    const pressure = this.#parts.pressure();
    if (written === undefined && pressure === undefined) return undefined;
    this.#pause = Promise.all([this.#pause, written, pressure]).then(() => undefined);
    return this.#pause;
  }

  /** The stream has ended. Resolves when all of it has reached our own output too. */
  async finish(): Promise<void> {
    clearTimeout(this.#flushTimer);
    this.#assembler.flush();
    await this.#pause;
  }

  /** The age of an unfinished line counts from its first byte, not from that of an older line. */
  #armFlush(isSameLine: boolean): void {
    if (this.#assembler.heldBytes === 0) {
      clearTimeout(this.#flushTimer);
      this.#flushTimer = undefined;
    } else if (this.#flushTimer === undefined) {
      this.#flushTimer = setTimeout(() => {
        this.#flushTimer = undefined;
        this.#assembler.flush();
      }, this.#parts.flushIntervalMs);
    } else if (!isSameLine) {
      this.#flushTimer.refresh();
    }
  }
}

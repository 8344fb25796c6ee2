const NEWLINE = 0x0a;

/** The first allocation for held bytes: most lines are shorter, and it doubles when one is not. */
const INITIAL_HELD_BYTES = 4 * 1024;

/**
 * Takes the entries of one read. The parts are valid only during the call: one is the reader's
 * reused buffer, the other holds bytes of earlier reads.
 */
export type EntrySink = (parts: readonly Buffer[], entries: number) => void;

/**
 * Turns reads, which end anywhere, into entries, which do not: complete lines go on in the same
 * turn that read them, as one call per read, and the unfinished last line is held back.
 *
 * A line of more than `maxEntryBytes` becomes entries that continue one another, each but the last
 * of exactly that length, wherever the reads were cut. So memory is bounded whatever the line
 * length, and the bytes of all entries, concatenated, are the bytes that were pushed.
 */
export class LineAssembler {
  readonly #maxEntryBytes: number;
  readonly #emit: EntrySink;
  #held = Buffer.allocUnsafe(INITIAL_HELD_BYTES);
  #heldBytes = 0;

  constructor(maxEntryBytes: number, emit: EntrySink) {
    this.#maxEntryBytes = maxEntryBytes;
    this.#emit = emit;
  }

  /** Bytes of an unfinished line that wait for their newline. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Takes one read. `chunk` may be reused once this returns. */
  push(chunk: Buffer): void {
    let from = 0;
    let at = 0;
    let entries = 0;
    while (at < chunk.length) {
      // What is held belongs to the first entry; after that nothing is.
      const room = this.#maxEntryBytes - (at === from ? this.#heldBytes : 0);
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline === -1 ? chunk.length : newline + 1;
      if (end - at > room || (end - at === room && newline === -1)) {
        // The line is longer than an entry may be: cut it here, and end the frame with the piece.
        at += room;
        this.#emitUpTo(chunk.subarray(from, at), entries + 1);
        from = at;
        entries = 0;
      } else if (newline === -1) {
        break;
      } else {
        at = end;
        entries += 1;
      }
    }
    if (entries > 0) this.#emitUpTo(chunk.subarray(from, at), entries);
    this.#hold(chunk.subarray(at));
  }

  /** Hands on the unfinished line, as an entry that the next one continues. */
  flush(): void {
    if (this.#heldBytes > 0) this.#emitUpTo(undefined, 1);
  }

  #emitUpTo(part: Buffer | undefined, entries: number): void {
    const parts = part === undefined ? [] : [part];
    if (this.#heldBytes > 0) parts.unshift(this.#held.subarray(0, this.#heldBytes));
    this.#heldBytes = 0;
    this.#emit(parts, entries);
  }

  #hold(rest: Buffer): void {
    const needed = this.#heldBytes + rest.length;
    if (needed > this.#held.length) {
      const size = Math.min(Math.max(needed, 2 * this.#held.length), this.#maxEntryBytes);
      const larger = Buffer.allocUnsafe(size);
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    rest.copy(this.#held, this.#heldBytes);
    this.#heldBytes = needed;
  }
}

/**
 * Bounds the bytes of request bodies in memory. Who finds no room waits in line, unread: its sender
 * is held back by TCP.
 */
export class MemoryGate {
  #freeBytes: number;
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];

  constructor(limitBytes: number) {
    this.#freeBytes = limitBytes;
  }

  /** Resolves once there is room; `bytes` is at most the limit. Give it back with `leave`. */
  async enter(bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && bytes <= this.#freeBytes) {
      this.#freeBytes -= bytes;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push({ bytes, enter: resolve });
    });
  }

  leave(bytes: number): void {
    this.#freeBytes += bytes;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (next.bytes > this.#freeBytes) return;
      this.#waiting.shift();
      this.#freeBytes -= next.bytes;
      next.enter();
    }
  }
}

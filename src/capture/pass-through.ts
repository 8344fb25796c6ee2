import { fstatSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { systemCode } from '../core/errors.js';

/** How long to wait before trying again a descriptor that somebody else has made non-blocking. */
const WOULD_BLOCK_RETRY_MS = 5;

/**
 * Copies a stream's bytes to our own stdout or stderr, exactly, at the pace of whoever reads them.
 *
 * - A reader that stalls holds the child back, as it would without us, and nothing else: writes to
 *   pipes, sockets and terminals go through the thread pool, so the event loop never blocks on
 *   them, and the descriptor is never made non-blocking, which all who share it would feel.
 * - A reader that has gone (EPIPE), or a full disk behind us, ends the copy and not the run.
 */
export class PassThrough {
  readonly #fd: number;
  readonly #isDirect: boolean;
  readonly #onBroken: (error: unknown) => void;
  #pending: Promise<void> | undefined;
  #isBroken = false;

  /** @param onBroken told once why the copy ended early; EPIPE included */
  constructor(fd: number, onBroken: (error: unknown) => void) {
    this.#fd = fd;
    this.#isDirect = writesDirectly(fd);
    this.#onBroken = onBroken;
  }

  /**
   * Writes the bytes, after those of earlier calls. They may be reused when this returns undefined,
   * or else once the promise resolves; it never rejects.
   */
  write(bytes: Buffer): Promise<void> | undefined {
    if (this.#isBroken || bytes.length === 0) return undefined;
    if (this.#isDirect) {
      this.#writeNow(bytes);
      return undefined;
    }
    this.#pending = (this.#pending ?? Promise.resolve()).then(() => this.#writeLater(bytes));
    return this.#pending;
  }

  #writeNow(bytes: Buffer): void {
    try {
      let at = 0;
      while (at < bytes.length) at += writeSync(this.#fd, bytes, at);
    } catch (error) {
      this.#break(error);
    }
  }

  async #writeLater(bytes: Buffer): Promise<void> {
    let at = 0;
    while (at < bytes.length && !this.#isBroken) {
      try {
        at += await writeSome(this.#fd, bytes.subarray(at));
      } catch (error) {
        if (systemCode(error) === 'EAGAIN') await delay(WOULD_BLOCK_RETRY_MS);
        else this.#break(error);
      }
    }
  }

  #break(error: unknown): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#onBroken(error);
  }
}

/** Regular files and devices such as /dev/null take everything at once. */
function writesDirectly(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFile() || (stats.isCharacterDevice() && !isatty(fd));
  } catch {
    // Closed at our start: the first write will tell.
    return true;
  }
}

function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, (error, written) => {
      if (error) reject(error);
      else resolve(written);
    });
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

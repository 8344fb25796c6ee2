import { readSync } from 'node:fs';
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import type { Readable } from 'node:stream';
import { systemCode } from '../core/errors.js';
import type { StreamIntake } from './stream-intake.js';

/** A pipe holds 64 KiB on Linux; a larger buffer was measured to give nothing. */
const READ_BUFFER_BYTES = 64 * 1024;

/**
 * The largest pipe that Linux gives to ordinary users: no pipe holds more that was written before.
 */
const PIPE_MAX_BYTES = 1024 * 1024;

/** Reads one stream of the child into its intake. */
export interface StreamReader {
  /** Resolves once nobody can write to it any more and everything was read, or after `abandon`. */
  readonly ended: Promise<void>;
  /** Resolves when everything that was read is on disk and in our own output. */
  readonly settled: Promise<void>;
  /**
   * Takes what is in the pipe now, without waiting. After the child's exit that is everything that
   * the child itself has written, also when a descendant keeps the pipe open or our own output is
   * stalled.
   */
  takeWhatIsThere(): void;
  /** Stops reading although the pipe is still open. Who writes to it afterwards gets SIGPIPE. */
  abandon(): void;
}

/**
 * Reads a FIFO with one buffer for all reads: nothing is allocated per read, let alone per line.
 */
export class PipeReader implements StreamReader {
  readonly ended: Promise<void>;
  readonly settled: Promise<void>;
  readonly #fd: number;
  readonly #intake: StreamIntake;
  readonly #socket: Socket;

  /** @param fd the read end, non-blocking; closed at the end */
  constructor(fd: number, intake: StreamIntake) {
    this.#fd = fd;
    this.#intake = intake;
    const buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
    const callback = (bytesRead: number): boolean => this.#onRead(buffer.subarray(0, bytesRead));
    // The types know `onread` only for connecting sockets; it works for descriptors alike.
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      fd,
      readable: true,
      writable: false,
      onread: { buffer, callback },
    };
    this.#socket = new Socket(options);
    this.ended = whenOver(this.#socket);
    this.settled = this.ended.then(() => intake.finish());
    this.#socket.resume();
  }

  takeWhatIsThere(): void {
    let taken = 0;
    while (!this.#socket.destroyed && !this.#socket.readableEnded && taken < PIPE_MAX_BYTES) {
      // Not the shared buffer: our own output may still be writing from it.
      const buffer = Buffer.allocUnsafe(READ_BUFFER_BYTES);
      const bytesRead = this.#readNow(buffer);
      if (bytesRead === undefined) return;
      // The end, which a paused socket would not see.
      if (bytesRead === 0) return void this.#socket.destroy();
      void this.#intake.take(buffer.subarray(0, bytesRead));
      taken += bytesRead;
    }
  }

  abandon(): void {
    this.#socket.destroy();
  }

  /** Undefined: nothing there now. 0: the end. */
  #readNow(buffer: Buffer): number | undefined {
    try {
      return readSync(this.#fd, buffer);
    } catch (error) {
      if (systemCode(error) === 'EAGAIN') return undefined;
      throw error;
    }
  }

  /** False stops the reading until `resume`. */
  #onRead(chunk: Buffer): boolean {
    const wait = this.#intake.take(chunk);
    if (wait === undefined) return true;
    void wait.then(() => this.#socket.resume());
    return false;
  }
}

/** Reads one of Node's own child streams, where FIFOs cannot be made. */
export class FallbackReader implements StreamReader {
  readonly ended: Promise<void>;
  readonly settled: Promise<void>;
  readonly #stream: Readable;

  constructor(stream: Readable, intake: StreamIntake) {
    this.#stream = stream;
    this.ended = whenOver(stream);
    this.settled = this.ended.then(() => intake.finish());
    stream.on('data', (chunk: Buffer) => {
      const wait = intake.take(chunk);
      if (wait === undefined) return;
      stream.pause();
      void wait.then(() => stream.resume());
    });
  }

  takeWhatIsThere(): void {
    for (let chunk: unknown = this.#stream.read(); chunk !== null; chunk = this.#stream.read()) {
      // Reading emits `data`, which takes the chunk.
    }
  }

  abandon(): void {
    this.#stream.destroy();
  }
}

/** A stream that cannot be read any more is over too; what was read of it is on disk. */
function whenOver(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'error', 'close']) {
      stream.once(event, () => {
        resolve();
      });
    }
  });
}

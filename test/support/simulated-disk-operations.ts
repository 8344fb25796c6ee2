import type { AppendFile, FileSystem } from '../../src/disk/file-system.js';

/** One call of the file-system interface. */
export interface Operation {
  /** From 1. */
  readonly number: number;
  readonly kind: keyof FileSystem | keyof AppendFile | 'read';
  readonly path: string;
  /** What an append was to write; 0 for anything else. */
  readonly bytes: number;
}

/** An error that an operation fails with. */
export interface Fault {
  readonly code: string;
  /** Of an append: what it has written before it failed; never all of it. */
  readonly writtenBytes?: number;
}

/** What an operation does, whole or in part. */
interface Effects<T> {
  readonly done: () => T;
  /** It fails, or is cut off by the end of the process, after so many bytes. */
  readonly part?: (writtenBytes: number) => void;
  /** It fails. Without it, a failure changes nothing. */
  readonly failed?: () => void;
}

/** What every call throws once the process is taken to be dead. */
const STOPPED_CODE = 'ESTOPPED';

/** Keeps the trace of what a disk is asked to do, and lets it fail or stop at any point. */
export class Operations {
  /** Every operation so far. */
  readonly trace: Operation[] = [];
  /** The process dies after this many operations: every later one throws, and does nothing. */
  stopAfter: number = Number.POSITIVE_INFINITY;
  /** If the process dies in an append: how much of it is written all the same. */
  stopWithBytes = 0;
  /** Chooses the operations that fail. */
  faultOf: (operation: Operation) => Fault | undefined = () => undefined;
  /** Files that are open now. */
  openFiles = 0;
  #stoppedIn: Omit<Operation, 'number'> | undefined;

  /** The operation in which the process died: none of it was done, or a part of an append. */
  get stoppedIn(): Omit<Operation, 'number'> | undefined {
    return this.#stoppedIn;
  }

  /** What was done, a line each: `rename /a/b`. */
  get lines(): string[] {
    return this.trace.map(({ kind, path }) => `${kind} ${path}`);
  }

  perform<T>(what: Omit<Operation, 'number'>, effects: Effects<T>): T {
    if (this.trace.length >= this.stopAfter) this.#stop(what, effects);
    const operation = { number: this.trace.length + 1, ...what };
    this.trace.push(operation);
    const fault = this.faultOf(operation);
    if (fault === undefined) return effects.done();
    // A write that has written everything does not fail.
    effects.part?.(Math.max(0, Math.min(fault.writtenBytes ?? 0, what.bytes - 1)));
    effects.failed?.();
    throw systemError(fault.code, what.path);
  }

  #stop(what: Omit<Operation, 'number'>, effects: Effects<unknown>): never {
    if (this.#stoppedIn === undefined) effects.part?.(this.stopWithBytes);
    this.#stoppedIn ??= what;
    throw systemError(STOPPED_CODE, what.path);
  }
}

/** An error as Node's file system throws it. */
export function systemError(code: string, path: string): Error {
  const { stackTraceLimit } = Error;
  // An enumeration of crashes makes many thousands of them, and nobody reads their stacks.
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path });
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

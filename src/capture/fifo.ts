import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The two ends of a pipe that has no name any more. */
export interface Pipe {
  /** Non-blocking: for us. */
  readonly readFd: number;
  /** Blocking, as a program expects its stdout: for the child. */
  readonly writeFd: number;
}

/**
 * Real pipes for a child. Node's own "pipes" are sockets, on which `echo > /dev/stdout`, `tee
 * /dev/stderr` and the like fail with ENXIO. A FIFO that was opened at both ends and unlinked is a
 * pipe like a shell's.
 *
 * The names live in a private directory for a few milliseconds and are gone before the child
 * starts. Undefined where FIFOs cannot be made: the caller falls back to Node's pipes.
 */
export function openPipes(count: number): readonly Pipe[] | undefined {
  let directory: string | undefined;
  const pipes: Pipe[] = [];
  try {
    directory = mkdtempSync(join(tmpdir(), 'shipper-'));
    const paths = Array.from(
      { length: count },
      (_, index) => `${String(directory)}/${String(index)}`,
    );
    if (spawnSync('mkfifo', ['-m', '600', ...paths], { stdio: 'ignore' }).status !== 0)
      return undefined;
    for (const path of paths) pipes.push(openBothEnds(path));
    return pipes;
  } catch {
    for (const { readFd, writeFd } of pipes) {
      closeSync(readFd);
      closeSync(writeFd);
    }
    return undefined;
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  }
}

/** The read end goes first and does not block, or opening the write end would wait for a reader. */
function openBothEnds(path: string): Pipe {
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { readFd, writeFd: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(readFd);
    throw error;
  }
}

import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { ShipperError, systemCode } from '../core/errors.js';
import type { ExitStatus } from '../core/run.js';
import type { Pipe } from './fifo.js';

/** A secret of ours that must not reach the command. */
const TOKEN_VARIABLE = 'SHIPPER_TOKEN';

export interface ChildSettings {
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Undefined where there is no run because nothing is captured. */
  readonly runId?: string;
  readonly output: ChildOutput;
}

/** `node-pipes` where FIFOs cannot be made; `inherit` when nothing is captured. */
export type ChildOutput =
  { readonly stdout: Pipe; readonly stderr: Pipe } | 'node-pipes' | 'inherit';

/** The running command. */
export interface Child {
  readonly pid: number;
  /** Resolves when the command itself has ended; its pipes may still hold output. */
  readonly exited: Promise<ExitStatus>;
  /** Only without FIFOs. */
  readonly fallback: { readonly stdout: Readable; readonly stderr: Readable } | undefined;
  /** True when it shares our terminal, and so our process group. */
  readonly sharesTerminal: boolean;
  /** To the command's process group, or to the command alone when the group is shared with us. */
  signal(signal: NodeJS.Signals): void;
}

/**
 * Starts the command: no shell, stdin inherited and never touched, the environment ours without
 * the token, and with `SHIPPER_RUN_ID`.
 *
 * With a terminal it stays in our process group, so that Ctrl-C, Ctrl-Z and reading keys work as
 * without us. Without one it gets a session of its own, so that a signal reaches all of it.
 *
 * @throws ShipperError `command-not-found`, `command-not-executable` or `spawn-failed`; nothing
 *   runs then
 */
export async function startChild(settings: ChildSettings): Promise<Child> {
  const { command, environment, runId, output } = settings;
  const sharesTerminal = hasTerminal();
  let child: ChildProcess;
  try {
    child = spawn(command[0] ?? '', command.slice(1), {
      stdio: stdioFor(output),
      env: { ...environment, [TOKEN_VARIABLE]: undefined, SHIPPER_RUN_ID: runId },
      detached: !sharesTerminal,
    });
  } catch (error) {
    throw startFailure(command, error);
  } finally {
    // From here on the child alone holds the write ends, so that we see their end.
    if (typeof output === 'object') {
      closeSync(output.stdout.writeFd);
      closeSync(output.stderr.writeFd);
    }
  }
  const exited = exitOf(child);
  const pid = await started(child, command);
  return {
    pid,
    exited,
    fallback: streamsOf(child),
    sharesTerminal,
    signal: signalTo(pid, sharesTerminal),
  };
}

function stdioFor(output: ChildOutput): StdioOptions {
  if (output === 'inherit') return 'inherit';
  if (output === 'node-pipes') return ['inherit', 'pipe', 'pipe'];
  return ['inherit', output.stdout.writeFd, output.stderr.writeFd];
}

/** Whether there is a terminal that could send signals to our process group. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

function started(child: ChildProcess, command: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(startFailure(command, error));
    });
    child.once('spawn', () => {
      resolve(child.pid ?? 0);
    });
  });
}

function exitOf(child: ChildProcess): Promise<ExitStatus> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      // A null code is a death by signal, never a success.
      resolve(signal === null ? { code: code ?? 1 } : { signal });
    });
  });
}

function streamsOf(child: ChildProcess): Child['fallback'] {
  if (child.stdout === null || child.stderr === null) return undefined;
  return { stdout: child.stdout, stderr: child.stderr };
}

function signalTo(pid: number, sharesTerminal: boolean): (signal: NodeJS.Signals) => void {
  const target = sharesTerminal ? pid : -pid;
  return (signal) => {
    try {
      process.kill(target, signal);
    } catch (error) {
      // It has ended already.
      if (systemCode(error) !== 'ESRCH') throw error;
    }
  };
}

function startFailure(command: readonly string[], error: unknown): ShipperError {
  const name = command[0] ?? '';
  switch (systemCode(error)) {
    case 'ENOENT':
      return new ShipperError('command-not-found', `cannot run ${name}: not found`, {
        hint: 'check its spelling and PATH',
        cause: error,
      });
    case 'EACCES':
    case 'ENOEXEC':
    case 'EISDIR':
      return new ShipperError(
        'command-not-executable',
        `cannot run ${name}: it is not executable`,
        {
          hint: 'give the path of a program, and check its permissions',
          cause: error,
        },
      );
    case undefined:
    default:
      return new ShipperError(
        'spawn-failed',
        `cannot run ${name}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
  }
}

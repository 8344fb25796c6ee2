import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** The built command, as users start it. */
export const SHIPPER_PATH: string = fileURLToPath(new URL('../../bin/shipper.js', import.meta.url));

/** The Node binary under test: the CI runs the same tests on several versions. */
export const NODE_PATH: string = process.env['SHIPPER_TEST_NODE'] ?? process.execPath;

export interface ShipperSettings {
  /** Added to an environment that holds no SHIPPER_* variable of its own. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Standard input, output and error; default: no input, both outputs collected. */
  readonly stdio?: StdioOptions;
}

/** How a process ended, and the bytes that it printed. */
export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface RunningShipper {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Settles when the process has ended and its pipes are closed. */
  readonly finished: Promise<Finished>;
  /** What it has printed so far. */
  stdoutSoFar(): string;
  stderrSoFar(): string;
  /** Waits until a stream has printed a match. Rejects when the process ends without one. */
  untilStdout(pattern: RegExp): Promise<RegExpExecArray>;
  untilStderr(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

/** Runs the built command to its end. */
export function shipper(
  args: readonly string[],
  settings: ShipperSettings = {},
): Promise<Finished> {
  return startShipper(args, settings).finished;
}

/** Starts the built command; it is killed when the test ends before it does. */
export function startShipper(
  args: readonly string[],
  settings: ShipperSettings = {},
): RunningShipper {
  const child = spawn(NODE_PATH, [SHIPPER_PATH, ...args], {
    cwd: settings.cwd,
    env: cleanEnvironment(settings.environment),
    stdio: settings.stdio ?? ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const stdout = new Collector(child.stdout);
  const stderr = new Collector(child.stderr);
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      stdout.end();
      stderr.end();
      resolve({ code, signal, stdout: stdout.bytes(), stderr: stderr.bytes() });
    });
  });
  return {
    child,
    pid: child.pid ?? 0,
    finished,
    stdoutSoFar: () => stdout.bytes().toString(),
    stderrSoFar: () => stderr.bytes().toString(),
    untilStdout: (pattern) => stdout.until(pattern),
    untilStderr: (pattern) => stderr.until(pattern),
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return finished;
    },
  };
}

/** Our environment without SHIPPER_* variables, plus what the test sets. */
function cleanEnvironment(
  added: Readonly<Record<string, string>> = {},
): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SHIPPER_'));
  return { ...Object.fromEntries(inherited), ...added };
}

/** Keeps what a stream printed and wakes those who wait for a part of it. */
class Collector {
  readonly #chunks: Buffer[] = [];
  readonly #waiting = new Set<() => void>();
  #ended = false;

  constructor(stream: NodeJS.ReadableStream | null) {
    stream?.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#wake();
    });
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  until(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(this.bytes().toString());
        if (found === null && !this.#ended) return;
        this.#waiting.delete(look);
        if (found !== null) resolve(found);
        else reject(new Error(`ended without ${String(pattern)}: ${this.bytes().toString()}`));
      };
      this.#waiting.add(look);
      look();
    });
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}

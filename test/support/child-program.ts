import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from './temporary-directory.js';

/** A program of ours in a process of its own, which answers a line with a line. */
export interface ChildProgram {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Sends a line, and waits for the next one that it prints. Rejects when it ends instead. */
  ask(line: string): Promise<string>;
  nextLine(): Promise<string>;
  /** Kills it, and waits until it is gone. */
  kill(): Promise<void>;
}

/**
 * Makes a program of `test/support`, with the sources that it imports, ready to be started by Node.
 * For what belongs to a process: its umask, its locks, its death.
 *
 * @param name without its ending
 * @returns the path of a single file, which is gone when the test ends
 */
export async function bundleProgram(name: string): Promise<string> {
  const directory = temporaryDirectory();
  await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      ssr: fileURLToPath(new URL(`${name}.ts`, import.meta.url)),
      outDir: directory,
      target: 'node20',
      rolldownOptions: { output: { entryFileNames: 'program.mjs' } },
    },
    ssr: { noExternal: true },
  });
  return join(directory, 'program.mjs');
}

/** Starts a bundled program. It is killed when the test ends. */
export function startProgram(path: string, args: readonly string[] = []): ChildProgram {
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error('the program has ended');
    return value;
  };
  return {
    process: child,
    pid: child.pid ?? 0,
    nextLine,
    ask: (line) => {
      child.stdin.write(`${line}\n`);
      return nextLine();
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

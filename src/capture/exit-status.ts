import { constants } from 'node:os';
import type { ExitStatus } from '../core/run.js';

/** How the wrapper has to end so that whoever waits for it sees what the command did. */
export type Departure =
  | { readonly kind: 'exit'; readonly code: number }
  /** End by this signal; where that does not work (pid 1), exit with `code`. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals; readonly code: number };

/** They write a core dump: ending by one ourselves would leave ours beside the command's. */
const CORE_DUMPING: ReadonlySet<string> = new Set([
  'SIGQUIT',
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGIOT',
  'SIGBUS',
  'SIGFPE',
  'SIGSEGV',
  'SIGSYS',
  'SIGXCPU',
  'SIGXFSZ',
]);

/** 128 + n, as shells report a death by signal. */
export function signalExitCode(signal: string): number {
  return 128 + ((constants.signals as Readonly<Record<string, number>>)[signal] ?? 0);
}

export function departureFor(exit: ExitStatus): Departure {
  if ('code' in exit) return { kind: 'exit', code: exit.code };
  if ('unknown' in exit) return { kind: 'exit', code: 1 };
  const code = signalExitCode(exit.signal);
  if (CORE_DUMPING.has(exit.signal)) return { kind: 'exit', code };
  return { kind: 'signal', signal: exit.signal as NodeJS.Signals, code };
}

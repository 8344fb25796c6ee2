import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Where everything lies in a spool. The names are a contract (see the README, "What is in the
 * spool").
 */
export interface SpoolLayout {
  readonly root: string;
  /** One directory per run. */
  readonly runs: string;
  /** One bell per run: the only thing that is watched. */
  readonly wake: string;
}

export function spoolLayout(root: string): SpoolLayout {
  return { root, runs: join(root, 'runs'), wake: join(root, 'wake') };
}

export function runDirectory(layout: SpoolLayout, runId: string): string {
  return join(layout.runs, runId);
}

export function bellPath(layout: SpoolLayout, runId: string): string {
  return join(layout.wake, runId);
}

export function runRecordPath(directory: string): string {
  return join(directory, 'run.json');
}

export function marksPath(directory: string): string {
  return join(directory, 'marks.json');
}

export function writerLockPath(directory: string): string {
  return join(directory, 'writer.lock');
}

export function uploaderLockPath(directory: string): string {
  return join(directory, 'uploader.lock');
}

/** `$XDG_STATE_HOME/shipper/spool`, as the XDG base directory specification has it. */
export function defaultSpoolRoot(
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const stateHome = environment['XDG_STATE_HOME'];
  // The specification tells to ignore a relative path.
  const base = stateHome?.startsWith('/') === true ? stateHome : join(homedir(), '.local', 'state');
  return join(base, 'shipper', 'spool');
}

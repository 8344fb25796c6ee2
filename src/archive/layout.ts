import { join } from 'node:path';
import type { StreamName } from '../core/stream.js';

/**
 * The delivered side on disk, a contract (README, "The archive"):
 *
 *     <dir>/<runId>/run.json             metadata; totals, digests and exit status once finished
 *     <dir>/<runId>/stdout.log           exactly the bytes that the command wrote
 *     <dir>/<runId>/stdout.index.jsonl   one line a frame: its header and its offset in the .log
 */
export function runPath(dir: string, runId: string): string {
  return join(dir, runId);
}

export function recordPath(directory: string): string {
  return join(directory, 'run.json');
}

export function logPath(directory: string, stream: StreamName): string {
  return join(directory, `${stream}.log`);
}

export function indexPath(directory: string, stream: StreamName): string {
  return join(directory, `${stream}.index.jsonl`);
}

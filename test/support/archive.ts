import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunId } from '../../src/core/run-id.js';

/** Ids of the runs in an archive, oldest first. */
export function archivedRuns(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir).filter(isRunId).sort() : [];
}

/** What an archive holds of a stream; empty when there is none. */
export function archivedBytes(dir: string, runId: string, stream: string): Buffer {
  const path = join(dir, runId, `${stream}.log`);
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSegmentName } from '../../src/spool/segment-name.js';
import { scanFrames } from '../../src/frames/scan.js';

/** Ids of the runs in a spool, oldest first. */
export function runIds(spool: string): string[] {
  return names(join(spool, 'runs')).sort();
}

/** The names of a run's segments of one state. */
export function segments(spool: string, runId: string, state: 'open' | 'sealed'): string[] {
  return names(join(spool, 'runs', runId))
    .filter((name) => parseSegmentName(name)?.state === state)
    .sort();
}

/** What the spool holds of a stream, sealed or not: the bodies of its intact frames. */
export function spooledBytes(spool: string, runId: string, stream: string): Buffer {
  const directory = join(spool, 'runs', runId);
  const bodies = names(directory)
    .filter((name) => parseSegmentName(name)?.stream === stream)
    .sort()
    .flatMap((name) => {
      const bytes = readFileSync(join(directory, name));
      return scanFrames(bytes).frames.map((frame) => bytes.subarray(frame.bodyStart, frame.end));
    });
  return Buffer.concat(bodies);
}

/** A `run.json`, of a spool or an archive. */
export function runJson(directory: string, runId: string): Record<string, unknown> {
  const path = join(directory, runId, 'run.json');
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

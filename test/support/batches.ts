import type { RunMetadata } from '../../src/core/run.js';
import { scanFrames } from '../../src/frames/scan.js';
import type { Batch } from '../../src/sinks/sink.js';
import { frameOf } from './frames.js';

export const METADATA: RunMetadata = {
  v: 1,
  id: '01J00000000000000000000000',
  name: 'job',
  command: ['job'],
  labels: {},
  host: 'host',
  pid: 1,
  startedAt: '2026-01-01T00:00:00.000Z',
  shipperVersion: '0.0.0',
};

/** Entries `first`…`last` of stdout in one frame, nothing else under way. */
export function batchOf(first: number, last: number, more: Partial<Batch> = {}): Batch {
  const lines = Array.from({ length: last - first + 1 }, (_, i) => `line ${String(first + i)}\n`);
  const body = frameOf(first, lines.join(''));
  return {
    run: METADATA,
    stream: 'stdout',
    first,
    last,
    epoch: 3,
    markAtSend: first - 1,
    highestSent: last,
    body,
    frames: scanFrames(body).frames,
    ...more,
  };
}

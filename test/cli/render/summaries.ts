import type { RunSummary } from '../../../src/spool/run-summary.js';
import type { SpoolSummary } from '../../../src/spool/summary.js';

/** A run that has ended, with one destination, and what a test wants different. */
export function aRun(changes: Partial<RunSummary>): RunSummary {
  return {
    record: {
      v: 1,
      id: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
      name: 'backup',
      command: ['./backup.sh', '/home'],
      labels: {},
      host: 'example',
      pid: 42,
      startedAt: '2025-12-01T00:00:00.000Z',
      shipperVersion: '0.0.0',
      destinations: ['dir:/a'],
      writer: null,
      end: { streams: {}, exit: { code: 1 }, gaps: 0, endedAt: '2025-12-01T00:00:01.000Z' },
    },
    state: 'ended',
    pendingEntries: 2,
    uncountedBytes: 0,
    pendingBytes: 100,
    segments: 1,
    oldestPendingAgeMs: 5000,
    destinations: [
      {
        id: 'dir:/a',
        pendingEntries: 2,
        lastAckAt: '2025-12-01T00:00:00.500Z',
        lastAckAgeMs: 2000,
        lastError: null,
        finished: false,
      },
    ],
    uploaderPid: null,
    foreignFiles: 0,
    problem: null,
    ...changes,
  };
}

export const anEmptySummary: SpoolSummary = {
  runs: [],
  unreadable: [],
  foreignFiles: 0,
  totals: {
    runs: 0,
    pendingEntries: 0,
    uncountedBytes: 0,
    pendingBytes: 0,
    segments: 0,
    oldestPendingAgeMs: null,
  },
};

/** A spool with these runs. Its totals are those of the first one. */
export function aSummary(runs: readonly RunSummary[]): SpoolSummary {
  const { pendingEntries, uncountedBytes, pendingBytes, segments, oldestPendingAgeMs } = runs[0]!;
  const figures = { pendingEntries, uncountedBytes, pendingBytes, segments, oldestPendingAgeMs };
  return { ...anEmptySummary, runs, totals: { runs: runs.length, ...figures } };
}

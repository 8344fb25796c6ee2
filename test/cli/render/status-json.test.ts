import { expect, it } from 'vitest';
import { statusDocument } from '../../../src/cli/render/status-json.js';
import { aRun, aSummary } from './summaries.js';

it('the document of status keeps its fields: they are a contract', () => {
  expect(statusDocument(aSummary([aRun({})]), '/spool')).toEqual({
    spool: '/spool',
    runs: [
      {
        id: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
        name: 'backup',
        command: ['./backup.sh', '/home'],
        host: 'example',
        pid: 42,
        state: 'ended',
        startedAt: '2025-12-01T00:00:00.000Z',
        endedAt: '2025-12-01T00:00:01.000Z',
        exit: { code: 1 },
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
      },
    ],
    unreadable: [],
    foreignFiles: 0,
    totals: {
      runs: 1,
      pendingEntries: 2,
      uncountedBytes: 0,
      pendingBytes: 100,
      segments: 1,
      oldestPendingAgeMs: 5000,
    },
  });
});

it('the document of status says null for an end that nobody saw', () => {
  const run = aRun({});
  const live = { ...run, record: { ...run.record, end: null } };
  const [shown] = statusDocument(aSummary([live]), '/spool').runs;
  expect(shown).toMatchObject({ endedAt: null, exit: null });
});

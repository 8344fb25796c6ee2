/**
 * Sources with logic that need no test file of their own, each with the reason. Types alone need
 * none and are not listed.
 */
export const untested: Readonly<Record<string, string>> = {
  'archive/append-request.ts': 'row for row through test/archive/protocol.test.ts',
  'archive/layout.ts': 'its paths are read by test/archive/protocol.test.ts',
  'archive/problem.ts': 'its answers are compared in test/archive/protocol.test.ts',
  'archive/run-archive.ts': 'row for row through test/archive/protocol.test.ts',
  'archive/run-record.ts': 'read back in test/archive/protocol.test.ts and recovery.test.ts',
  'archive/stream-archive.ts': 'through test/archive/protocol.test.ts and recovery.test.ts',
  'cli/commands/run.ts': 'the whole of it, from outside: test/e2e/run.test.ts and delivery.test.ts',
  'cli/run/delivery.ts': 'starts and ends a thread of the built code: test/e2e/delivery.test.ts',
  'cli/run/departure.ts': 'ends the process by a signal: test/e2e/run.test.ts',
  'cli/run/leftovers.ts': 'its line is read in test/e2e/run.test.ts and delivery.test.ts',
  'upload/buffer-pool.ts': 'ten lines, through test/upload/stream-sender.test.ts',
  'upload/delivery.ts': 'puts the real machine together: test/e2e/delivery.test.ts',
  'upload/worker.ts': 'runs in a thread of the built code: test/e2e/delivery.test.ts',
};

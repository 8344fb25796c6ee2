import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/exit-codes.js';
import { drainOutcome } from '../../../src/cli/drain/outcome.js';
import type { RunSummary } from '../../../src/spool/run-summary.js';
import { aDelivery } from '../render/deliveries.js';
import { aRun, aSummary, anEmptySummary } from '../render/summaries.js';

const run = aRun({});
const { id } = run.record;

function withTrouble(): RunSummary {
  const [destination] = run.destinations;
  return { ...run, destinations: [{ ...destination!, lastError: 'entries 1 to 2 are missing' }] };
}

describe('drainOutcome', () => {
  it('is success when the spool is empty', () => {
    const outcome = drainOutcome(aDelivery({}), anEmptySummary);
    expect(outcome).toMatchObject({ exitCode: EXIT.ok, left: [], heldRuns: 0, ongoingRuns: 0 });
  });

  it('is no success while others still have something to deliver', () => {
    const report = aDelivery({ skipped: [[id, { kind: 'held', pid: 42 }]] });
    const left = { left: [], heldRuns: 1 };
    const pending = drainOutcome(report, aSummary([run]));
    expect(pending).toMatchObject({ ...left, exitCode: EXIT.undelivered });
    const delivered = drainOutcome(report, aSummary([{ ...run, pendingEntries: 0 }]));
    expect(delivered).toMatchObject({ ...left, exitCode: EXIT.ok });
  });

  it('is no failure when a run goes on of which everything so far is delivered', () => {
    const live = aRun({ state: 'live' });
    expect(drainOutcome(aDelivery({}), aSummary([live]))).toMatchObject({
      exitCode: EXIT.ok,
      ongoingRuns: 1,
    });
  });

  it('asks for another try when delivery of a run that goes on has trouble', () => {
    const live = aRun({ state: 'live' });
    const outcome = drainOutcome(aDelivery({ end: 'stalled' }), aSummary([live]));
    expect(outcome).toMatchObject({ exitCode: EXIT.undelivered, left: [live], ongoingRuns: 0 });
  });

  it.each(['stalled', 'timed-out', 'refused', 'stopped', 'done'] as const)(
    'asks for another try when something is left and it ended as %s',
    (end) => {
      expect(drainOutcome(aDelivery({ end }), aSummary([run])).exitCode).toBe(EXIT.undelivered);
    },
  );

  it('asks for another try when nobody said where to deliver', () => {
    const report = aDelivery({ skipped: [[id, { kind: 'no-destination', reason: 'x' }]] });
    expect(drainOutcome(report, aSummary([run])).exitCode).toBe(EXIT.undelivered);
  });

  it('asks for another try when a run cannot be read', () => {
    const after = { ...anEmptySummary, unreadable: [{ id, reason: 'EACCES' }] };
    expect(drainOutcome(aDelivery({}), after)).toMatchObject({
      exitCode: EXIT.undelivered,
      unreadableRuns: 1,
    });
  });

  it('tells refused credentials apart', () => {
    const report = aDelivery({ end: 'refused', credentialsRefused: true });
    expect(drainOutcome(report, aSummary([run])).exitCode).toBe(EXIT.refused);
  });

  it('tells data apart that cannot be sent', () => {
    expect(drainOutcome(aDelivery({}), aSummary([withTrouble()])).exitCode).toBe(EXIT.data);
  });

  it('takes trouble with the destination for no trouble with the data', () => {
    const after = aSummary([withTrouble()]);
    expect(drainOutcome(aDelivery({ end: 'stalled' }), after).exitCode).toBe(EXIT.undelivered);
  });
});

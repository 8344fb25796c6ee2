import { describe, expect, it } from 'vitest';
import { drainOutcome } from '../../../src/cli/drain/outcome.js';
import {
  deliveredLine,
  drainDocument,
  leftoverLine,
  noteLines,
} from '../../../src/cli/render/drain.js';
import type { DeliveryReport } from '../../../src/upload/delivery.js';
import { aDelivery } from './deliveries.js';
import { aRun, aSummary, anEmptySummary } from './summaries.js';

const run = aRun({});
const { id } = run.record;
const limits = { stalledAfter: 60_000, timeout: 5000 };

function leftover(changes: Partial<DeliveryReport>, left = run): string | undefined {
  return leftoverLine(drainOutcome(aDelivery(changes), aSummary([left])), limits);
}

describe('leftoverLine', () => {
  it('is silent when nothing is left', () => {
    expect(leftoverLine(drainOutcome(aDelivery({}), anEmptySummary), limits)).toBeUndefined();
  });

  it.each<[Partial<DeliveryReport>, string]>([
    [
      { end: 'stalled', lastError: 'connection refused' },
      'nothing was confirmed for 1m (connection refused); run it again when that is solved',
    ],
    [{ end: 'timed-out' }, 'gave up after 5s; give it longer with --timeout, or run it again'],
    [{ end: 'stopped' }, 'it was told to stop; run it again'],
    [
      { end: 'refused', lastError: 'it answers with a web page' },
      'it answers with a web page; run it again when that is solved',
    ],
    [{ end: 'refused' }, 'the destination refuses it; run it again when that is solved'],
    [
      { skipped: [[id, { kind: 'no-destination', reason: 'nobody said where to deliver it' }]] },
      'nobody said where to deliver it; name a destination with --to <url>',
    ],
    [
      { skipped: [[id, { kind: 'failed', reason: 'EIO: i/o error' }]] },
      'EIO: i/o error; shipper status shows more',
    ],
    [{}, 'it came while this was ending; run it again'],
  ])('says how much is left, why, and what to try: %j', (changes, explanation) => {
    expect(leftover(changes)).toBe(
      `shipper: 2 entries (100 B) of 1 run not delivered: ${explanation}`,
    );
  });

  it('says what is wrong with the data when nothing else is', () => {
    const [destination] = run.destinations;
    const lastError = 'a.seg at byte 12: checksum mismatch';
    const blocked = aRun({ destinations: [{ ...destination!, lastError }] });
    expect(leftover({}, blocked)).toContain(`: ${lastError}; shipper status shows more`);
  });

  it('counts runs whose directory cannot be read', () => {
    const after = { ...anEmptySummary, unreadable: [{ id, reason: 'EACCES' }] };
    expect(leftoverLine(drainOutcome(aDelivery({}), after), limits)).toBe(
      'shipper: 0 entries (0 B) of 1 run not delivered: its directory cannot be read; run it again',
    );
  });
});

describe('noteLines', () => {
  it('says which runs are left to others, and which go on', () => {
    const ongoing = aRun({ state: 'live', record: { ...run.record, id: 'another' } });
    const report = aDelivery({ skipped: [[id, { kind: 'held', pid: 42 }]] });
    expect(noteLines(drainOutcome(report, aSummary([run, ongoing])))).toEqual([
      'shipper: 1 run left to the process that delivers it now',
      'shipper: 1 run still going on, delivered as far as sealed',
    ]);
  });

  it('is silent otherwise', () => {
    expect(noteLines(drainOutcome(aDelivery({}), anEmptySummary))).toEqual([]);
  });
});

describe('deliveredLine', () => {
  it('sums up for a person', () => {
    const done = drainOutcome(aDelivery({}), anEmptySummary);
    expect(deliveredLine(done, '/spool')).toBe(
      'shipper: delivered 1,234 entries (2.0 KiB) in 3 requests',
    );
    const stats = { ...done.report.stats, entries: 0 };
    const idle = drainOutcome(aDelivery({ stats }), anEmptySummary);
    expect(deliveredLine(idle, '/spool')).toBe('shipper: nothing to deliver in /spool');
  });
});

describe('drainDocument', () => {
  it('keeps its fields: they are a contract', () => {
    const report = aDelivery({ end: 'stalled', lastError: 'x' });
    expect(drainDocument(drainOutcome(report, aSummary([run])), '/spool')).toEqual({
      spool: '/spool',
      end: 'stalled',
      deliveredEntries: 1234,
      deliveredBytes: 2048,
      requests: 3,
      retries: 0,
      leftRuns: 1,
      leftEntries: 2,
      leftBytes: 100,
      heldRuns: 0,
      ongoingRuns: 0,
      lastError: 'x',
    });
  });
});

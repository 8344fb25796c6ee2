import { describe, expect, it } from 'vitest';
import { renderStatus } from '../../../src/cli/render/status.js';
import { aRun, aSummary, anEmptySummary } from './summaries.js';

describe('renderStatus', () => {
  it('is a table with a total', () => {
    const run = aRun({ pendingEntries: 1234, pendingBytes: 2048, segments: 3 });
    const heading = 'RUN'.padEnd(run.record.id.length);
    expect(renderStatus(aSummary([run]), '/spool')).toBe(
      [
        `${heading}  NAME    STATE  ENTRIES    BYTES  SEGMENTS  OLDEST  LAST ACK  DESTINATION`,
        `${run.record.id}  backup  ended    1,234  2.0 KiB         3     5 s       2 s  dir:/a`,
        '1 run, 1,234 entries, 2.0 KiB in 3 segments pending in /spool',
        '',
      ].join('\n'),
    );
  });

  it('says so when there is nothing', () => {
    expect(renderStatus(anEmptySummary, '/spool')).toBe('nothing in the spool /spool\n');
  });

  it('shows what is not known as a dash, and no destination in words', () => {
    const run = aRun({ oldestPendingAgeMs: null, destinations: [] });
    expect(renderStatus(aSummary([run]), '/spool')).toMatch(/ - +- +none$/m);
  });

  it('shows a further destination in a row of its own', () => {
    const run = aRun({});
    const [first] = run.destinations;
    const second = { ...first!, id: 'dir:/b', pendingEntries: 7, lastAckAgeMs: null };
    const text = renderStatus(aSummary([{ ...run, destinations: [first!, second] }]), '/spool');
    expect(text).toMatch(/^ +7 +- +dir:\/b$/m);
  });

  it('marks a number of entries that leaves some uncounted', () => {
    const run = aRun({ pendingEntries: 10, uncountedBytes: 100 });
    const text = renderStatus(aSummary([run]), '/spool');
    expect(text).toMatch(/ 10\+ /);
    expect(text).toContain('1 run, 10+ entries');
  });

  it('says under a run what is wrong with it, and what to do', () => {
    const [first] = aRun({}).destinations;
    const dead = aRun({
      state: 'dead',
      problem: 'run.json is damaged',
      uploaderPid: 4711,
      destinations: [{ ...first!, lastError: 'connect\nrefused' }],
    });
    const lines = renderStatus(aSummary([dead, aRun({})]), '/spool').split('\n');
    expect(lines.slice(2, 6)).toEqual([
      '  run.json is damaged: its segments are delivered all the same',
      '  dead: wrapper gone; shipper drain delivers it',
      '  being delivered by process 4711',
      '  last error from dir:/a: connect?refused',
    ]);
    expect(lines[6]).toContain('ended');
  });

  it('says that a wrapper on another host cannot be judged', () => {
    expect(renderStatus(aSummary([aRun({ state: 'unknown' })]), '/spool')).toContain(
      '  its wrapper is on example, which cannot be seen from here',
    );
  });

  it('names runs that cannot be read, and counts what is not ours', () => {
    const summary = {
      ...anEmptySummary,
      unreadable: [{ id: '01X', reason: 'EACCES: permission denied' }],
      foreignFiles: 2,
    };
    expect(renderStatus(summary, '/spool').split('\n')).toEqual([
      '01X  cannot be read: EACCES: permission denied',
      'nothing in the spool /spool',
      "2 files in it not shipper's: left alone",
      '',
    ]);
  });

  it('lets no name of a run move the cursor', () => {
    const run = aRun({});
    const named = { ...run, record: { ...run.record, name: '\u001b[2Jx' } };
    expect(renderStatus(aSummary([named]), '/spool')).not.toContain('\u001b');
  });
});

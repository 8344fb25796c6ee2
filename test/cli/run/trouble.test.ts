import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import { TroubleReporter } from '../../../src/cli/run/trouble.js';
import type { WriterTrouble } from '../../../src/spool/stream-writer.js';

const error = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });

function dropped(entries: number, bytes: number): WriterTrouble {
  return { kind: 'dropped', gap: { entries, bytes, why: 'disk-full' }, error };
}

function setUp(): { reporter: TroubleReporter; lines: string[]; pass: (ms: number) => void } {
  let nowMs = 0;
  const clock: Clock = { wallMs: () => 0, wallNs: () => 0n, monotonicMs: () => nowMs };
  const lines: string[] = [];
  const reporter = new TroubleReporter(clock, (line) => lines.push(line));
  return { reporter, lines, pass: (ms) => (nowMs += ms) };
}

describe('TroubleReporter', () => {
  it('says at once what was dropped, why, and what to do', () => {
    const { reporter, lines } = setUp();
    reporter.report(dropped(3, 120));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/no space left.*3 entries \(120 bytes\) dropped.*--spool/);
  });

  it('warns at most every 10 s, with the running total', () => {
    const { reporter, lines, pass } = setUp();
    reporter.report(dropped(1, 10));
    for (let second = 0; second < 9; second += 1) {
      pass(1000);
      reporter.report(dropped(1, 10));
    }
    expect(lines).toHaveLength(1);
    pass(1000);
    reporter.report(dropped(1, 10));
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('11 entries (110 bytes)');
  });

  it('tells at the end what it has not told yet, and nothing twice', () => {
    const { reporter, lines } = setUp();
    reporter.report(dropped(1, 10));
    reporter.report(dropped(1, 10));
    reporter.finish();
    reporter.finish();
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('2 entries (20 bytes)');
  });

  it('says nothing when nothing was dropped', () => {
    const { reporter, lines } = setUp();
    reporter.finish();
    expect(lines).toEqual([]);
  });

  it('says that what could not be sealed is on disk all the same', () => {
    const { reporter, lines } = setUp();
    reporter.report({ kind: 'seal-failed', stream: 'stderr', error });
    expect(lines[0]).toMatch(/cannot seal a segment of stderr.*on disk.*drain/);
  });
});

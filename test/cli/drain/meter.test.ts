import { describe, expect, it } from 'vitest';
import { figuresOf, workOf } from '../../../src/cli/drain/meter.js';
import { aRun, aSummary } from '../render/summaries.js';

const [destination] = aRun({}).destinations;
const run = aRun({
  pendingEntries: 5,
  pendingBytes: 100,
  destinations: [
    { ...destination!, pendingEntries: 5 },
    { ...destination!, id: 'dir:/b', pendingEntries: 2 },
  ],
});

describe('workOf', () => {
  it('counts for each destination what it has not confirmed', () => {
    expect(workOf(aSummary([run, run]), 0)).toEqual({ entries: 14, bytes: 400 });
  });

  it('counts everything for destinations that are named', () => {
    expect(workOf(aSummary([run]), 3)).toEqual({ entries: 15, bytes: 300 });
  });
});

describe('figuresOf', () => {
  it('tells what is done and what is left', () => {
    expect(figuresOf({ entries: 10, bytes: 100 }, { entries: 4, bytes: 40 })).toEqual({
      doneBytes: 40,
      totalBytes: 100,
      pendingEntries: 6,
    });
  });

  it('never shows more than all', () => {
    expect(figuresOf({ entries: 10, bytes: 100 }, { entries: 12, bytes: 120 })).toEqual({
      doneBytes: 120,
      totalBytes: 120,
      pendingEntries: 0,
    });
  });
});

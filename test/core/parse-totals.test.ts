import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTotals } from '../../src/core/parse-totals.js';

const TOTALS = {
  streams: {
    stdout: { last: 2, bytes: 8, sha256: 'ab' },
    stderr: { last: 0, bytes: 0, sha256: null },
  },
  exit: { code: 0 },
  gaps: 1,
  endedAt: '2026-01-01T00:00:00.000Z',
};

describe('parseTotals', () => {
  it.each([
    TOTALS,
    { ...TOTALS, exit: { signal: 'SIGKILL' } },
    { streams: {}, exit: { unknown: true }, gaps: 0, endedAt: null },
    { ...TOTALS, streams: { merged: { last: 1, bytes: null, sha256: null } } },
  ])('gives a final record back as it is', (totals) => {
    expect(parseTotals(JSON.parse(JSON.stringify(totals)) as typeof totals)).toEqual(totals);
  });

  it('leaves other fields to others', () => {
    expect(parseTotals({ ...TOTALS, id: 'x', epoch: 3 })).toEqual(TOTALS);
  });

  it.each([
    ['no streams', { ...TOTALS, streams: undefined }],
    [
      'a stream without a name that is known',
      { ...TOTALS, streams: { log: TOTALS.streams.stdout } },
    ],
    ['a stream without its last', { ...TOTALS, streams: { stdout: { bytes: 1, sha256: null } } }],
    ['a negative count', { ...TOTALS, gaps: -1 }],
    ['a count that is no whole number', { ...TOTALS, gaps: 0.5 }],
    [
      'a digest that is a number',
      { ...TOTALS, streams: { stdout: { last: 1, bytes: 1, sha256: 7 } } },
    ],
    [
      'bytes that are text',
      { ...TOTALS, streams: { stdout: { last: 1, bytes: '1', sha256: null } } },
    ],
    ['no end that says how', { ...TOTALS, exit: {} }],
    ['no exit', { ...TOTALS, exit: undefined }],
    ['an end without a time', { ...TOTALS, endedAt: undefined }],
    ['streams that are a list', { ...TOTALS, streams: [] }],
  ])('is none with %s', (_, fields) => {
    expect(parseTotals(fields)).toBeUndefined();
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('streams', 'exit', 'gaps', 'endedAt'), fc.jsonValue()),
        (fields) => {
          parseTotals(fields);
        },
      ),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRunId, newRunId } from '../../src/core/run-id.js';

/** The largest time that 48 bits hold. */
const LAST_MS = 2 ** 48 - 1;

const times = fc.integer({ min: 0, max: LAST_MS });

describe('newRunId', () => {
  it('makes well-formed ids, whatever the clock says', () => {
    fc.assert(
      fc.property(times, (wallMs) => {
        expect(isRunId(newRunId(wallMs))).toBe(true);
      }),
    );
    expect(isRunId(newRunId(-1))).toBe(true);
  });

  it('makes ids that sort by time', () => {
    fc.assert(
      fc.property(times, times, (a, b) => {
        fc.pre(a < b);
        expect(newRunId(a) < newRunId(b)).toBe(true);
      }),
    );
  });

  it('never makes the same id twice in one millisecond', () => {
    const ids = Array.from({ length: 10_000 }, () => newRunId(0));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('isRunId', () => {
  it.each([
    '',
    '..',
    '../../etc',
    '01ARZ3NDEKTSV4RRFFQ69G5FA',
    '01ARZ3NDEKTSV4RRFFQ69G5FAVX',
    '81ARZ3NDEKTSV4RRFFQ69G5FAV',
    '01arz3ndektsv4rrffq69g5fav',
    '01ARZ3NDEKTSV4RRFFQ69G5FAU',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV\n',
  ])('refuses %j', (text) => {
    expect(isRunId(text)).toBe(false);
  });

  it('takes the example of the ULID specification', () => {
    expect(isRunId('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(true);
  });
});

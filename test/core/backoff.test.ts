import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../src/core/backoff.js';

const attempts = fc.integer({ min: 1, max: 10_000 });
const draws = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('backoffMs', () => {
  it('doubles its bound from half a second on', () => {
    const almostOne = 1 - Number.EPSILON;
    expect([1, 2, 3, 4].map((attempt) => backoffMs(attempt, almostOne))).toEqual([
      499, 999, 1999, 3999,
    ]);
  });

  it('stays between zero and a minute, whatever the attempt', () => {
    fc.assert(
      fc.property(attempts, draws, (attempt, random) => {
        const waitMs = backoffMs(attempt, random);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(60_000);
      }),
    );
  });

  it('never waits shorter than the server asked for', () => {
    fc.assert(
      fc.property(attempts, draws, fc.integer({ min: 0, max: 1e6 }), (attempt, random, least) => {
        expect(backoffMs(attempt, random, least)).toBeGreaterThanOrEqual(least);
      }),
    );
  });
});

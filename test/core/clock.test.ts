import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.js';

describe('systemClock', () => {
  it('labels with wall-clock time in ns', () => {
    const beforeMs = Date.now();
    const ns = systemClock.wallNs();
    const afterMs = Date.now();
    // The anchored clock may drift by 2 ms from the wall clock before it is anchored anew.
    expect(ns).toBeGreaterThanOrEqual(BigInt(beforeMs - 3) * 1_000_000n);
    expect(ns).toBeLessThanOrEqual(BigInt(afterMs + 3) * 1_000_000n);
  });

  it('tells wall-clock time in ms', () => {
    const beforeMs = Date.now();
    expect(systemClock.wallMs()).toBeGreaterThanOrEqual(beforeMs);
  });

  it('measures with a clock that never goes back', () => {
    const readings = Array.from({ length: 1000 }, () => systemClock.monotonicMs());
    expect(readings).toEqual([...readings].sort((a, b) => a - b));
  });
});

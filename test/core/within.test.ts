import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { within } from '../../src/core/within.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('within', () => {
  it('is over when the work is, and leaves no timer behind', async () => {
    await within(Promise.resolve(), 60_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is over after the limit when the work is not', async () => {
    let isOver = false;
    void within(new Promise(() => undefined), 100).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
  });

  it('fails when the work does, and leaves no timer behind', async () => {
    await expect(within(Promise.reject(new Error('broken')), 60_000)).rejects.toThrow('broken');
    expect(vi.getTimerCount()).toBe(0);
  });
});

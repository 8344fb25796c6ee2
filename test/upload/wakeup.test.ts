import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Wakeup } from '../../src/upload/wakeup.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Wakeup', () => {
  it('ends the present wait', async () => {
    const wakeup = new Wakeup();
    const waiting = wakeup.wait(60_000);
    wakeup.notify();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends the next wait at once when nobody is waiting, and that one alone', async () => {
    const wakeup = new Wakeup();
    wakeup.notify();
    wakeup.notify();
    await wakeup.wait(60_000);
    let isOver = false;
    void wakeup.wait(1000).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
  });

  it('remembers who has rung until somebody takes the news', async () => {
    const wakeup = new Wakeup();
    expect(wakeup.hasNews).toBe(false);
    for (const id of ['a', 'b', 'a']) wakeup.ring(id);
    // An answer that comes at the same moment takes none of it away.
    wakeup.notify();
    await wakeup.wait(60_000);
    expect(wakeup.hasNews).toBe(true);
    expect(wakeup.takeNews()).toEqual(['a', 'b']);
    expect([wakeup.hasNews, wakeup.takeNews()]).toEqual([false, []]);
  });

  it('does not fire at once for a time that timers cannot hold', async () => {
    const wakeup = new Wakeup();
    let isOver = false;
    void wakeup.wait(Number.POSITIVE_INFINITY).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(1000);
    expect(isOver).toBe(false);
    wakeup.notify();
  });
});

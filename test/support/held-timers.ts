import { vi } from 'vitest';

/**
 * Time-outs of the program run when the test says so. Sockets keep real time: Node's own timers are
 * others. `vi.useRealTimers()` in an `afterEach` ends it.
 */
export function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
}

/** Resolves once that many time-outs are waiting. */
export async function untilTimers(count: number): Promise<void> {
  while (vi.getTimerCount() < count) await new Promise((resolve) => setImmediate(resolve));
}

import { afterEach, describe, expect, it } from 'vitest';
import { listenForTermination, type Termination } from '../../src/cli/termination.js';

let termination: Termination | undefined;

afterEach(() => {
  termination?.dispose();
});

describe('listenForTermination', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('asks once, at the first %s', (signal) => {
    const before = process.listenerCount(signal);
    termination = listenForTermination();
    expect(termination.signal.aborted).toBe(false);
    process.emit(signal);
    expect(termination.signal.aborted).toBe(true);
    // A second one has its default effect again.
    expect(process.listenerCount(signal)).toBe(before);
  });

  it('listens no longer once it is disposed of', () => {
    const before = process.listenerCount('SIGTERM');
    termination = listenForTermination();
    termination.dispose();
    expect(process.listenerCount('SIGTERM')).toBe(before);
    expect(termination.signal.aborted).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/telemetry/log.js';

describe('the silent logger', () => {
  it('takes everything and says nothing', () => {
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      expect(() => {
        silentLogger[level]({ a: 1 }, 'x');
      }).not.toThrow();
    }
  });
});

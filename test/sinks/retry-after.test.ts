import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../src/sinks/retry-after.js';

const NOW = 'Wed, 21 Oct 2026 07:28:00 GMT';

describe('retryAfterMs', () => {
  it.each([
    ['seconds', '120', undefined, 120_000],
    ['no wait', '0', undefined, 0],
    [
      'a date, by the clock of the server that gave it',
      'Wed, 21 Oct 2026 07:28:30 GMT',
      NOW,
      30_000,
    ],
    ['a date that is past', 'Wed, 21 Oct 2026 07:27:00 GMT', NOW, 0],
    ['more than anybody should wait', '999999999', undefined, 3_600_000],
    ['a date without a clock to compare', NOW, undefined, undefined],
    ['something else', 'soon', NOW, undefined],
    ['a negative number', '-5', NOW, undefined],
    ['nothing', undefined, NOW, undefined],
  ])('reads %s', (_, value, date, expected) => {
    expect(retryAfterMs(value, date)).toBe(expected);
  });
});

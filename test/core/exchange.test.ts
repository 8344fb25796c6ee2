import { expect, it } from 'vitest';
import { singleValues } from '../../src/core/exchange.js';

it('repeated headers are joined, and those without a value left out', () => {
  const headers = { one: '1', many: ['a', 'b'], none: undefined };
  expect(singleValues(headers)).toEqual({ one: '1', many: 'a, b' });
});

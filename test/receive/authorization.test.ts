import { describe, expect, it } from 'vitest';
import { isAuthorized } from '../../src/receive/authorization.js';

describe('isAuthorized', () => {
  it.each([
    ['the token', 'Bearer right', true],
    ['the token, however Bearer is written', 'bearer  right', true],
    ['another token', 'Bearer wrong', false],
    ['a longer token that begins alike', 'Bearer rightly', false],
    ['an empty token', 'Bearer ', false],
    ['another scheme', 'Basic right', false],
    ['nothing', undefined, false],
  ])('with %s', (_, header, expected) => {
    expect(isAuthorized(header, 'right')).toBe(expected);
  });

  it('lets everybody in where there is no token', () => {
    expect(isAuthorized(undefined, undefined)).toBe(true);
  });
});

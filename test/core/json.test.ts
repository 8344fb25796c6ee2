import { describe, expect, it } from 'vitest';
import { isCount, isObject, parseObject } from '../../src/core/json.js';

describe('parseObject', () => {
  it('takes objects and nothing else', () => {
    expect(parseObject('{"a":1}')).toEqual({ a: 1 });
    for (const text of ['', '[]', 'null', '1', '"a"', '{"a":']) {
      expect(parseObject(text)).toBeUndefined();
    }
  });
});

describe('isObject', () => {
  it('takes neither lists nor null', () => {
    expect([{}, [], null, 'a', undefined].map(isObject)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('isCount', () => {
  it('takes whole numbers that are exact, from the least on', () => {
    const values = [0, 1, -1, 0.5, 2 ** 53, Number.NaN, '1', null];
    const [zero, one, ...others] = values.map((value) => isCount(value));
    expect([zero, one]).toEqual([true, true]);
    expect(others).toEqual(others.map(() => false));
    expect([isCount(0, 1), isCount(1, 1)]).toEqual([false, true]);
  });
});

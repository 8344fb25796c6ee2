import { describe, expect, it } from 'vitest';
import { assert, assertNever } from '../../src/core/assert.js';

describe('assert', () => {
  it('lets a fact pass', () => {
    expect(() => {
      assert(true, 'one is one');
    }).not.toThrow();
  });

  it('names the broken invariant', () => {
    expect(() => {
      assert(false, 'sequences are contiguous');
    }).toThrow('broken invariant: sequences are contiguous');
  });
});

describe('assertNever', () => {
  it('shows the value that no branch handles', () => {
    expect(() => assertNever('surprise' as never)).toThrow('"surprise"');
  });
});

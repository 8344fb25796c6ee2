import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countEntries, entryOffset } from '../../src/frames/entries.js';
import { bodies } from '../support/frames.js';

describe('countEntries', () => {
  it.each([
    ['', 0],
    ['\n', 1],
    ['a', 1],
    ['a\n', 1],
    ['a\nb', 2],
    ['\n\n\n', 3],
    ['a\r\nb\rc\n', 2],
  ])('finds in %j this many: %d', (text, count) => {
    expect(countEntries(Buffer.from(text))).toBe(count);
  });
});

describe('entryOffset', () => {
  it.each([
    [0, 0],
    [1, 2],
    [2, 3],
    [3, 5],
    [4, 5],
    [99, 5],
  ])('finds where entry %d begins: at %d', (index, offset) => {
    expect(entryOffset(Buffer.from('a\n\nbc'), index)).toBe(offset);
  });

  it('cuts a body into exactly its entries', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const count = countEntries(body);
        const pieces = Array.from({ length: count }, (_, index) =>
          body.subarray(entryOffset(body, index), entryOffset(body, index + 1)),
        );
        expect(Buffer.concat(pieces)).toEqual(body);
        for (const [index, piece] of pieces.entries()) {
          expect(piece.subarray(0, -1).includes('\n')).toBe(false);
          expect(index === count - 1 || piece.at(-1) === 0x0a).toBe(true);
        }
      }),
    );
  });
});

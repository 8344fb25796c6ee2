import { describe, expect, it } from 'vitest';
import { tableLines } from '../../../src/cli/render/table.js';

describe('tableLines', () => {
  it('aligns words left and figures right, under their headings', () => {
    const lines = tableLines(
      [
        { heading: 'NAME', align: 'left' },
        { heading: 'BYTES', align: 'right' },
        { heading: 'TO', align: 'left' },
      ],
      [
        ['a', '1', 'x'],
        ['a longer one', '1,234,567', 'y'],
      ],
    );
    expect(lines).toEqual([
      'NAME              BYTES  TO',
      'a                     1  x',
      'a longer one  1,234,567  y',
    ]);
  });

  it('ends no line with blanks', () => {
    expect(tableLines([{ heading: 'A', align: 'left' }], [[''], ['long']])).toEqual([
      'A',
      '',
      'long',
    ]);
  });
});

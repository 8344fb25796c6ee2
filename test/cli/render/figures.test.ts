import { expect, it } from 'vitest';
import { counted, figure } from '../../../src/cli/render/figures.js';

it('figures have separators', () => {
  expect([0, 999, 1234567].map(figure)).toEqual(['0', '999', '1,234,567']);
});

it('nouns agree with their number', () => {
  expect([counted(1, 'run'), counted(0, 'run'), counted(2, 'entry', 'entries')]).toEqual([
    '1 run',
    '0 runs',
    '2 entries',
  ]);
});

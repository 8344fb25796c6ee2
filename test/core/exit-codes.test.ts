import { describe, expect, it } from 'vitest';
import { EXIT, EXIT_CODE_TABLE } from '../../src/core/exit-codes.js';

describe('EXIT_CODE_TABLE', () => {
  it('has a row for every exit status of our own', () => {
    const codes = EXIT_CODE_TABLE.map(({ code }) => code);
    expect(codes).toEqual(expect.arrayContaining(Object.values(EXIT).map(String)));
    expect(new Set(codes).size).toBe(codes.length);
  });
});

import { afterEach, describe, expect, it, vi } from 'vitest';
import { printNotice, printOut } from '../../src/cli/output.js';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('printOut', () => {
  it('writes results to stdout, unchanged', () => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    printOut('a result\n');
    expect(write.mock.calls).toEqual([['a result\n']]);
  });
});

describe('printNotice', () => {
  it('writes a line to stderr', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    printNotice('shipper: a word');
    expect(write.mock.calls).toEqual([['shipper: a word\n']]);
  });
});

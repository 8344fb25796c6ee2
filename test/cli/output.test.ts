import { expect, it } from 'vitest';
import { printNotice, printOut } from '../../src/cli/output.js';
import { captureOutput } from '../support/printed.js';

it('results go to stdout, unchanged', () => {
  const printed = captureOutput();
  printOut('a result\n');
  expect(printed).toEqual({ stdout: 'a result\n', stderr: '' });
});

it('notices go to stderr, a line each', () => {
  const printed = captureOutput();
  printNotice('shipper: a word');
  expect(printed).toEqual({ stdout: '', stderr: 'shipper: a word\n' });
});

it('a reader that goes away is no error of ours; a full disk is said, in one line', () => {
  captureOutput();
  printOut('x');
  const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  expect(() => process.stdout.emit('error', closed)).not.toThrow();
  expect(process.exitCode).toBeUndefined();
  process.stdout.emit('error', new Error('ENOSPC: no space left on device'));
  expect(process.exitCode).toBe(74);
  process.exitCode = undefined;
});

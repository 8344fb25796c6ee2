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

it('a reader that goes away is no error of ours, and anything else is', () => {
  captureOutput();
  printOut('x');
  const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  expect(() => process.stdout.emit('error', closed)).not.toThrow();
  expect(() => process.stdout.emit('error', new Error('broken'))).toThrow('broken');
});

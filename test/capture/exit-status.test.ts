import { describe, expect, it } from 'vitest';
import { departureFor, signalExitCode } from '../../src/capture/exit-status.js';

describe('departureFor', () => {
  it.each([0, 1, 2, 64, 125, 126, 127, 128, 255])(
    'leaves with the code %i of the command',
    (code) => {
      expect(departureFor({ code })).toEqual({ kind: 'exit', code });
    },
  );

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
    ['SIGKILL', 137],
    ['SIGPIPE', 141],
  ])('ends by %s as the command did, or with %i where it cannot', (signal, code) => {
    expect(departureFor({ signal })).toEqual({ kind: 'signal', signal, code });
  });

  it.each([
    ['SIGSEGV', 139],
    ['SIGABRT', 134],
    ['SIGQUIT', 131],
  ])('does not dump its own core for %s', (signal, code) => {
    expect(departureFor({ signal })).toEqual({ kind: 'exit', code });
  });

  it('never makes a success of an end that nobody saw', () => {
    expect(departureFor({ unknown: true })).toEqual({ kind: 'exit', code: 1 });
  });
});

describe('signalExitCode', () => {
  it('is 128 + n', () => {
    expect(signalExitCode('SIGKILL')).toBe(137);
  });

  it('is 128 for a signal that this system does not know', () => {
    expect(signalExitCode('SIGNONE')).toBe(128);
  });
});

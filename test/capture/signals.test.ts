import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Child } from '../../src/capture/child.js';
import { SignalForwarder } from '../../src/capture/signals.js';

let signals: SignalForwarder;
beforeEach(() => {
  signals = new SignalForwarder();
});
afterEach(() => {
  signals.remove();
});

function child(sharesTerminal: boolean): { child: Child; received: string[] } {
  const received: string[] = [];
  return {
    received,
    child: {
      pid: 1,
      exited: new Promise(() => undefined),
      fallback: undefined,
      sharesTerminal,
      signal: (signal) => received.push(signal),
    },
  };
}

describe('SignalForwarder', () => {
  it('passes on to the command what we are sent', () => {
    const { child: command, received } = child(false);
    signals.attach(command);
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR2'] as const) process.emit(signal);
    expect(received).toEqual(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR2']);
  });

  it('does not repeat what a shared terminal has sent to the command already', () => {
    const { child: command, received } = child(true);
    signals.attach(command);
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM'] as const) process.emit(signal);
    expect(received).toEqual(['SIGTERM']);
  });

  it('keeps a signal that comes before the command has started', () => {
    process.emit('SIGTERM');
    const { child: command, received } = child(false);
    signals.attach(command);
    expect(received).toEqual(['SIGTERM']);
  });

  it('takes a signal after the command has ended as: do not wait any longer', () => {
    const { child: command, received } = child(false);
    signals.attach(command);
    let isTold = false;
    signals.childEnded(() => {
      isTold = true;
    });
    process.emit('SIGINT');
    expect(isTold).toBe(true);
    expect(received).toEqual([]);
  });

  it('gives the signals back', () => {
    const before = process.listenerCount('SIGTERM');
    signals.remove();
    expect(process.listenerCount('SIGTERM')).toBe(before - 1);
  });
});

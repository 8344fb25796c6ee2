import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PassThrough } from '../../src/capture/pass-through.js';
import { StreamIntake } from '../../src/capture/stream-intake.js';

const FLUSH_MS = 100;

interface Setup {
  readonly intake: StreamIntake;
  readonly written: string[];
}

function setUp(
  parts: { passThrough?: PassThrough; pressure?: () => Promise<void> | undefined } = {},
): Setup {
  const written: string[] = [];
  const intake = new StreamIntake({
    maxEntryBytes: 1000,
    flushIntervalMs: FLUSH_MS,
    append: (body) => written.push(Buffer.concat(body).toString()),
    pressure: parts.pressure ?? (() => undefined),
    passThrough: parts.passThrough,
  });
  return { intake, written };
}

/** Our own output, as slow as the test wants it. */
function ownOutput(write: (bytes: Buffer) => Promise<void> | undefined): PassThrough {
  return { write } as unknown as PassThrough;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('StreamIntake', () => {
  it('writes complete lines in the turn that read them', () => {
    const { intake, written } = setUp();
    expect(intake.take(Buffer.from('one\ntwo\n'))).toBeUndefined();
    expect(written).toEqual(['one\ntwo\n']);
  });

  it('writes an unfinished line once it is as old as the flush interval', () => {
    const { intake, written } = setUp();
    void intake.take(Buffer.from('50 %'));
    vi.advanceTimersByTime(FLUSH_MS - 1);
    expect(written).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(written).toEqual(['50 %']);
  });

  it('never cuts an ordinary line: its age counts from its own first byte', () => {
    const { intake, written } = setUp();
    void intake.take(Buffer.from('first li'));
    vi.advanceTimersByTime(FLUSH_MS - 1);
    void intake.take(Buffer.from('ne\nsecond li'));
    vi.advanceTimersByTime(FLUSH_MS - 1);
    void intake.take(Buffer.from('ne\n'));
    vi.advanceTimersByTime(FLUSH_MS);
    expect(written).toEqual(['first line\n', 'second line\n']);
  });

  it('does not let a trickle put the flush of an unfinished line off', () => {
    const { intake, written } = setUp();
    for (let dot = 0; dot < 4; dot += 1) {
      void intake.take(Buffer.from('.'));
      vi.advanceTimersByTime(30);
    }
    expect(written).toEqual(['....']);
  });

  it('lets the reader wait while our own output is behind', async () => {
    let release: () => void = () => undefined;
    const passThrough = ownOutput(() => new Promise((resolve) => (release = resolve)));
    const { intake, written } = setUp({ passThrough });
    const wait = intake.take(Buffer.from('x\n'));
    expect(written).toEqual(['x\n']);
    let isOver = false;
    const over = wait?.then(() => {
      isOver = true;
    });
    await Promise.resolve();
    expect(isOver).toBe(false);
    release();
    await over;
    expect(isOver).toBe(true);
  });

  it('lets the reader wait while the disk is behind', async () => {
    const { intake } = setUp({ pressure: () => Promise.resolve() });
    const wait = intake.take(Buffer.from('x\n'));
    expect(wait).toBeInstanceOf(Promise);
    await wait;
  });

  it('keeps an unterminated last line, and is done when our own output has it too', async () => {
    const passed: string[] = [];
    const passThrough = ownOutput((bytes) => {
      passed.push(bytes.toString());
      return Promise.resolve();
    });
    const { intake, written } = setUp({ passThrough });
    void intake.take(Buffer.from('no newline'));
    await intake.finish();
    expect(written).toEqual(['no newline']);
    expect(passed).toEqual(['no newline']);
    expect(vi.getTimerCount()).toBe(0);
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SealTimer } from '../../src/spool/seal-timer.js';
import { ManualClock } from '../support/simulated-run.js';

const FLUSH_INTERVAL_MS = 100;

let clock: ManualClock;
let due: number[];
let timer: SealTimer;
let startedMs: number;

/** The time passes, for the timers and for the clock. */
function pass(ms: number): void {
  for (let step = 0; step < ms; step += 1) {
    clock.nowMs += 1;
    vi.advanceTimersByTime(1);
  }
}

/** How long a segment that begins now stays open. */
function ageAtSeal(): number {
  due = [];
  startedMs = clock.nowMs;
  timer.start();
  pass(1000);
  expect(due).toHaveLength(1);
  return due[0]!;
}

beforeEach(() => {
  vi.useFakeTimers();
  clock = new ManualClock();
  due = [];
  timer = new SealTimer(clock, FLUSH_INTERVAL_MS, () => due.push(clock.nowMs - startedMs));
});

afterEach(() => {
  vi.useRealTimers();
});

describe('the seal timer', () => {
  it('seals within milliseconds what a quiet stream has printed', () => {
    expect(ageAtSeal()).toBe(2);
    timer.sealed(1);
    pass(5000);
    expect(ageAtSeal()).toBe(2);
  });

  it('seals a busy stream a few times per interval', () => {
    timer.sealed(1);
    expect(ageAtSeal()).toBe(FLUSH_INTERVAL_MS / 4);
  });

  it('rests as long as a seal takes on a slow disk', () => {
    timer.sealed(30);
    expect(ageAtSeal()).toBe(60);
  });

  it('never keeps a segment open longer than the flush interval, however slow the disk', () => {
    timer.sealed(10_000);
    expect(ageAtSeal()).toBe(FLUSH_INTERVAL_MS);
  });

  it('takes a shorter interval than its own grain', () => {
    timer = new SealTimer(clock, 1, () => due.push(clock.nowMs - startedMs));
    expect(ageAtSeal()).toBe(1);
  });

  it('is silent once the segment is sealed for another reason', () => {
    timer.start();
    timer.stop();
    pass(1000);
    expect(due).toEqual([]);
    timer.stop();
  });
});

import { performance } from 'node:perf_hooks';

/**
 * Time as a port, so that tests can step it. Waits and ages use `monotonicMs` alone: the wall clock
 * may jump by years (it labels entries and is never used to decide anything).
 */
export interface Clock {
  /** Wall-clock time in ns since 1970, with at least microsecond resolution. May jump. */
  wallNs(): bigint;
  /** Wall-clock time in ms since 1970. May jump. */
  wallMs(): number;
  /** Milliseconds of a clock that never jumps; its zero means nothing. */
  monotonicMs(): number;
}

/** How far the anchored clock may drift from the wall clock before it is anchored anew. */
const DRIFT_MAX_MS = 2;

class SystemClock implements Clock {
  #anchorMs = performance.timeOrigin;

  /**
   * `Date.now` alone has only milliseconds. An anchor plus the monotonic clock has ns, and is
   * anchored anew when the wall clock was stepped.
   */
  wallNs(): bigint {
    const sinceOriginMs = performance.now();
    const wallMs = Date.now();
    if (Math.abs(this.#anchorMs + sinceOriginMs - wallMs) > DRIFT_MAX_MS) {
      this.#anchorMs = wallMs - sinceOriginMs;
    }
    const ms = this.#anchorMs + sinceOriginMs;
    const wholeMs = Math.floor(ms);
    return BigInt(wholeMs) * 1_000_000n + BigInt(Math.floor((ms - wholeMs) * 1e6));
  }

  wallMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }
}

/** The one place that reads the machine's clocks. */
export const systemClock: Clock = new SystemClock();

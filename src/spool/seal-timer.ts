import type { Clock } from '../core/clock.js';

/**
 * A quiet stream's entry waits this long before its segment is sealed, so that the lines of a
 * burst, which arrive within a millisecond or two, share one file and one request.
 */
const QUIET_SEAL_MS = 2;

/** A busy stream seals this often per flush interval while the disk is fast. */
const SEALS_PER_INTERVAL = 4;

/**
 * On a slow disk at most this part of the time goes into syncing: one seal, then as long a rest.
 */
const REST_PER_SEAL = 1;

/**
 * When to seal the open segment. Its age never exceeds the flush interval; a stream that was quiet
 * seals within milliseconds; one that prints all the time seals a few times per interval, less
 * often where syncing is slow. One timer per segment, not per line.
 */
export class SealTimer {
  readonly #clock: Clock;
  readonly #flushIntervalMs: number;
  readonly #onDue: () => void;
  #timer: NodeJS.Timeout | undefined;
  #lastSealAtMs = Number.NEGATIVE_INFINITY;
  #lastSealTookMs = 0;

  constructor(clock: Clock, flushIntervalMs: number, onDue: () => void) {
    this.#clock = clock;
    this.#flushIntervalMs = flushIntervalMs;
    this.#onDue = onDue;
  }

  /** The segment has its first entry. */
  start(): void {
    const now = this.#clock.monotonicMs();
    const spacing = Math.max(
      this.#flushIntervalMs / SEALS_PER_INTERVAL,
      this.#lastSealTookMs * (1 + REST_PER_SEAL),
    );
    const wait = Math.max(QUIET_SEAL_MS, this.#lastSealAtMs + spacing - now);
    this.#timer = setTimeout(this.#onDue, Math.min(wait, this.#flushIntervalMs));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** A seal is done; it took this long. */
  sealed(tookMs: number): void {
    this.#lastSealAtMs = this.#clock.monotonicMs();
    this.#lastSealTookMs = tookMs;
  }
}

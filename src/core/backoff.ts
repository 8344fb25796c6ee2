/** First wait after a failure. */
const BASE_MS = 500;
/** Longest wait: a destination that comes back is found within a minute. */
const CAP_MS = 60_000;

/**
 * Full jitter (a uniform draw from 0 to the exponential bound), so that many senders that failed
 * together do not come back together. `atLeastMs` is what the server asked for (Retry-After).
 *
 * @param attempt 1 after the first failure
 * @param random uniform in [0, 1)
 */
export function backoffMs(attempt: number, random: number, atLeastMs = 0): number {
  const bound = Math.min(CAP_MS, BASE_MS * 2 ** Math.min(attempt - 1, 30));
  return Math.max(Math.floor(bound * random), atLeastMs);
}

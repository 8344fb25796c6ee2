import { HOUR_MS } from '../core/units.js';

/**
 * A server that asks for more has a wrong clock or a wrong configuration: probe once an hour at
 * least.
 */
const LONGEST_MS = HOUR_MS;

/**
 * `Retry-After` in milliseconds, in both forms of RFC 9110: seconds, or a date. The date is
 * compared with the answer's own `Date`, so that a clock that differs from the server's changes
 * nothing.
 *
 * Undefined when the header is missing or unreadable; a date that is past means 0.
 */
export function retryAfterMs(value: string | undefined, date?: string): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Math.min(Number(value) * 1000, LONGEST_MS);
  // `Date.parse` reads years into much that is no date.
  if (!/^[A-Z][a-z]{2}/.test(value)) return undefined;
  const until = Date.parse(value) - Date.parse(date ?? '');
  return Number.isNaN(until) ? undefined : Math.min(Math.max(0, until), LONGEST_MS);
}

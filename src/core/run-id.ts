import { randomBytes } from 'node:crypto';

/** Crockford's base 32: no I, L, O, U, and byte order is value order, so ids sort by time. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;
const PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/**
 * A new run id: a ULID (48 bits of time, 80 of randomness). It is unique by its random part; the
 * time part only sorts, so a clock that jumps can never make two runs share an id.
 */
export function newRunId(wallMs: number): string {
  let time = '';
  let rest = Math.max(0, Math.floor(wallMs));
  for (let index = 0; index < TIME_CHARS; index += 1) {
    time = symbol(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  let random = '';
  for (const byte of randomBytes(RANDOM_CHARS)) random += symbol(byte % 32);
  return time + random;
}

/** True for a well-formed run id. Every id that becomes a path passes this first. */
export function isRunId(text: string): boolean {
  return PATTERN.test(text);
}

function symbol(value: number): string {
  return ALPHABET.charAt(value);
}

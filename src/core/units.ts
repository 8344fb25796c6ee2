/**
 * Durations and sizes as people write them. Durations are milliseconds inside, sizes bytes.
 * Both parsers take exactly one number and one unit, so that `10` is never guessed to be seconds.
 */

export const KIB = 1024;
export const MIB: number = 1024 * KIB;
export const GIB: number = 1024 * MIB;

export const SECOND_MS = 1000;
export const MINUTE_MS: number = 60 * SECOND_MS;
export const HOUR_MS: number = 60 * MINUTE_MS;

const DURATION_UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: 24 * HOUR_MS,
};

const SIZE_UNITS_BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KiB: KIB,
  MiB: MIB,
  GiB: GIB,
  TiB: 1024 * GIB,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
};

/** `250ms`, `10s`, `1.5m`, `2h`, `30d` → milliseconds; undefined when the text is none of these. */
export function parseDurationMs(text: string): number | undefined {
  return parseQuantity(text, DURATION_UNITS_MS);
}

/** `512B`, `64KiB`, `4GiB`, `30MB` → bytes; undefined when the text is none of these. */
export function parseSizeBytes(text: string): number | undefined {
  return parseQuantity(text, SIZE_UNITS_BYTES);
}

function parseQuantity(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const match = /^(\d{1,16}(?:\.\d{1,6})?)([a-zA-Z]+)$/.exec(text);
  const factor = match?.[2] === undefined ? undefined : units[match[2]];
  if (match === null || factor === undefined) return undefined;
  const value = Math.round(Number(match[1]) * factor);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** The shortest exact form, which `parseDurationMs` reads back: 90000 → `90s`, 120000 → `2m`. */
export function formatDuration(ms: number): string {
  return formatQuantity(ms, DURATION_UNITS_MS, 'ms');
}

/** The shortest exact binary form, which `parseSizeBytes` reads back: 8388608 → `8MiB`. */
export function formatSize(bytes: number): string {
  const { B, KiB, MiB, GiB, TiB } = SIZE_UNITS_BYTES as Record<string, number>;
  return formatQuantity(bytes, { B, KiB, MiB, GiB, TiB } as Record<string, number>, 'B');
}

function formatQuantity(
  value: number,
  units: Readonly<Record<string, number>>,
  smallest: string,
): string {
  let best = `${String(value)}${smallest}`;
  if (value === 0) return best;
  for (const [unit, factor] of Object.entries(units)) {
    if (value % factor === 0) best = `${String(value / factor)}${unit}`;
  }
  return best;
}

/** For reading, not for parsing: `12.3 MiB`. */
export function humanBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? String(value) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** For reading, not for parsing: `12 s`, `3 min`, `5 h`, `2 d`. Negative ages read as `0 s`. */
export function humanAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / SECOND_MS));
  if (seconds < 120) return `${String(seconds)} s`;
  if (seconds < 7200) return `${String(Math.round(seconds / 60))} min`;
  if (seconds < 172_800) return `${String(Math.round(seconds / 3600))} h`;
  return `${String(Math.round(seconds / 86_400))} d`;
}

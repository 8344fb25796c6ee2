/** The JSON object in a text of unknown origin; undefined for anything else. Never throws. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A whole number that a double holds exactly, from `least` on. */
export function isCount(value: unknown, least = 0): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
}

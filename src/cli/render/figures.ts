/** A whole number with thousands separators, the same in every locale. */
export function figure(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 run`, `2 runs`; the plural is given where it takes more than an s. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${figure(value)} ${value === 1 ? noun : plural}`;
}

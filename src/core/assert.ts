/**
 * States a fact that only a bug in this program can break. It stops the operation at once, before a
 * broken invariant reaches the disk.
 *
 * @throws Error named `AssertionError` when `condition` is false; nothing was changed by the
 *   caller.
 */
export function assert(condition: boolean, fact: string): asserts condition {
  if (condition) return;
  const error = new Error(`broken invariant: ${fact}`);
  error.name = 'AssertionError';
  throw error;
}

/** Makes a `switch` over a union exhaustive: a new member that nobody handles does not compile. */
export function assertNever(value: never): never {
  throw new Error(`broken invariant: unexpected value ${JSON.stringify(value)}`);
}

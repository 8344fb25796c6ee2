/**
 * Resolves when the work is done, or after this long without it; then the work goes on unwatched.
 * Leaves no timer behind, and rejects when the work does.
 */
export async function within(work: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

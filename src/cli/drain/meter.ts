import type { SpoolSummary } from '../../spool/summary.js';
import type { Delivery } from '../../upload/delivery.js';
import type { ProgressFigures } from '../progress.js';

/** Ten times a second is what an eye takes for continuous; the bar itself draws no more often. */
const UPDATE_MS = 100;

/**
 * Shows on a terminal how far a delivery is; elsewhere it does nothing. Returns what ends it.
 *
 * @param before the spool as it was when the delivery began
 * @param to the destinations that are named; none: where each run says
 */
export async function showProgress(
  delivery: Delivery,
  before: SpoolSummary,
  to: readonly string[],
): Promise<() => void> {
  if (!process.stderr.isTTY) return () => undefined;
  const { startProgress } = await import('../progress.js');
  const work = workOf(before, to.length);
  const figures = (): ProgressFigures => figuresOf(work, delivery.stats);
  const progress = startProgress(process.stderr, figures());
  const timer = setInterval(() => {
    progress.update(figures());
  }, UPDATE_MS);
  return () => {
    clearInterval(timer);
    progress.stop();
  };
}

/** Entries and bytes that are to be confirmed, summed over the destinations of each run. */
export interface Work {
  readonly entries: number;
  readonly bytes: number;
}

/** @param named how many destinations are named; 0: as many as each run says */
export function workOf({ runs }: SpoolSummary, named: number): Work {
  let entries = 0;
  let bytes = 0;
  for (const run of runs) {
    const { destinations, pendingEntries, pendingBytes } = run;
    bytes += pendingBytes * (named === 0 ? destinations.length : named);
    if (named > 0) entries += pendingEntries * named;
    else for (const destination of destinations) entries += destination.pendingEntries;
  }
  return { entries, bytes };
}

/** Runs that go on bring more than was counted: then the total grows. */
export function figuresOf(
  work: Work,
  done: { readonly entries: number; readonly bytes: number },
): ProgressFigures {
  return {
    doneBytes: done.bytes,
    totalBytes: Math.max(work.bytes, done.bytes),
    pendingEntries: Math.max(0, work.entries - done.entries),
  };
}

import type { Options } from '../../core/options.js';
import { formatDuration, humanBytes } from '../../core/units.js';
import type { RunSummary } from '../../spool/run-summary.js';
import type { UploadEnd } from '../../upload/uploader.js';
import type { DrainOutcome } from '../drain/outcome.js';
import { counted } from './figures.js';

/** What `shipper drain --json` prints: a contract, as that of `status`. */
export interface DrainDocument {
  /** Absolute path. */
  readonly spool: string;
  /** Why it ended. */
  readonly end: UploadEnd;
  readonly deliveredEntries: number;
  /** Bytes of the request bodies that were confirmed. */
  readonly deliveredBytes: number;
  readonly requests: number;
  readonly retries: number;
  readonly leftRuns: number;
  readonly leftEntries: number;
  readonly leftBytes: number;
  readonly heldRuns: number;
  readonly ongoingRuns: number;
  /** The newest trouble in words; null when there is none. */
  readonly lastError: string | null;
}

export function drainDocument(outcome: DrainOutcome, spool: string): DrainDocument {
  const { report, left, unreadableRuns, heldRuns, ongoingRuns } = outcome;
  const { entries, bytes, requests, retries } = report.stats;
  return {
    spool,
    end: report.end,
    deliveredEntries: entries,
    deliveredBytes: bytes,
    requests,
    retries,
    leftRuns: left.length + unreadableRuns,
    leftEntries: sum(left, (run) => run.pendingEntries),
    leftBytes: sum(left, (run) => run.pendingBytes),
    heldRuns,
    ongoingRuns,
    lastError: report.lastError ?? null,
  };
}

/** One line when something is left: how much, why, and what to try. Undefined when nothing is. */
export function leftoverLine(
  outcome: DrainOutcome,
  limits: Pick<Options, 'stalledAfter' | 'timeout'>,
): string | undefined {
  const { left, unreadableRuns } = outcome;
  const runs = left.length + unreadableRuns;
  if (runs === 0) return undefined;
  const entries = entriesText(sum(left, (run) => run.pendingEntries));
  const bytes = humanBytes(sum(left, (run) => run.pendingBytes));
  const { why, hint } = explanation(outcome, limits);
  return `shipper: ${entries} (${bytes}) of ${counted(runs, 'run')} not delivered: ${why}; ${hint}`;
}

/** What else a person should know: runs that are left to others, or that still go on. */
export function noteLines({ heldRuns, ongoingRuns }: DrainOutcome): string[] {
  const notes: string[] = [];
  if (heldRuns > 0) {
    notes.push(`shipper: ${counted(heldRuns, 'run')} left to the process that delivers it now`);
  }
  if (ongoingRuns > 0) {
    notes.push(
      `shipper: ${counted(ongoingRuns, 'run')} still going on, delivered as far as sealed`,
    );
  }
  return notes;
}

/** The line of success, for a person at a terminal. */
export function deliveredLine({ report }: DrainOutcome, spool: string): string {
  const { entries, bytes, requests } = report.stats;
  if (entries === 0) return `shipper: nothing to deliver in ${spool}`;
  const what = `${entriesText(entries)} (${humanBytes(bytes)})`;
  return `shipper: delivered ${what} in ${counted(requests, 'request')}`;
}

interface Explanation {
  readonly why: string;
  readonly hint: string;
}

function explanation(
  { report, left, unreadableRuns }: DrainOutcome,
  { stalledAfter, timeout }: Pick<Options, 'stalledAfter' | 'timeout'>,
): Explanation {
  const trouble = report.lastError === undefined ? '' : ` (${report.lastError})`;
  switch (report.end) {
    case 'stalled':
      return {
        why: `nothing was confirmed for ${formatDuration(stalledAfter)}${trouble}`,
        hint: 'run it again when that is solved',
      };
    case 'timed-out':
      return {
        why: `gave up after ${formatDuration(timeout ?? 0)}${trouble}`,
        hint: 'give it longer with --timeout, or run it again',
      };
    case 'stopped':
      return { why: 'it was told to stop', hint: 'run it again' };
    case 'refused':
      return {
        why: report.lastError ?? 'the destination refuses it',
        hint: 'run it again when that is solved',
      };
    case 'done':
      return explanationOfRest(report.skipped, left, unreadableRuns);
  }
}

/** Nothing more could be sent, and yet something is left. */
function explanationOfRest(
  skipped: DrainOutcome['report']['skipped'],
  left: readonly RunSummary[],
  unreadableRuns: number,
): Explanation {
  for (const [, skip] of skipped) {
    if (skip.kind === 'no-destination') {
      return { why: skip.reason, hint: 'name a destination with --to <url>' };
    }
    if (skip.kind === 'failed') return { why: skip.reason, hint: 'shipper status shows more' };
  }
  const errors = left.flatMap(({ destinations }) => destinations.map(({ lastError }) => lastError));
  const trouble = errors.find((error) => error !== null);
  const unreadable = unreadableRuns > 0 ? 'its directory cannot be read' : undefined;
  return {
    why: trouble ?? unreadable ?? 'it came while this was ending',
    hint: trouble === undefined ? 'run it again' : 'shipper status shows more',
  };
}

function entriesText(entries: number): string {
  return counted(entries, 'entry', 'entries');
}

function sum(runs: readonly RunSummary[], figureOf: (run: RunSummary) => number): number {
  return runs.reduce((total, run) => total + figureOf(run), 0);
}

import type { Clock } from '../core/clock.js';
import { reasonOf } from '../core/errors.js';
import { isRunId } from '../core/run-id.js';
import { isTemporary, listIfPresent } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import { runDirectory, type SpoolLayout } from './layout.js';
import { summarizeRun, type RunSummary, type SummaryContext } from './run-summary.js';

/**
 * What is in a spool, from one listing per run: with 100,000 segments it takes about a second, and
 * no segment but the open ones and the oldest is opened.
 */
export interface SpoolSummary {
  /** Oldest first. */
  readonly runs: readonly RunSummary[];
  /** Runs whose directory cannot be read, and why. */
  readonly unreadable: readonly UnreadableRun[];
  /** Names beside the runs and in them that are not ours: left alone. */
  readonly foreignFiles: number;
  readonly totals: SpoolTotals;
}

export interface UnreadableRun {
  readonly id: string;
  readonly reason: string;
}

export interface SpoolTotals {
  readonly runs: number;
  readonly pendingEntries: number;
  readonly uncountedBytes: number;
  readonly pendingBytes: number;
  readonly segments: number;
  readonly oldestPendingAgeMs: number | null;
}

/**
 * Open segments of live runs hold 8 MiB or less as a rule, so that eight busy runs are counted
 * entry by entry; reading this much from the page cache takes a tenth of a second.
 */
const OPEN_SCAN_BYTES_MAX = 64 * 1024 * 1024;

/** What a spool directory holds by its format. */
const OWN_NAMES: ReadonlySet<string> = new Set(['runs', 'wake', 'dead', 'damaged']);

/** Takes no lock and changes nothing. An unreadable run never hides the others. */
export async function summarizeSpool(
  fs: FileSystem,
  clock: Clock,
  layout: SpoolLayout,
): Promise<SpoolSummary> {
  const context: SummaryContext = { fs, clock, scanBudget: { bytes: OPEN_SCAN_BYTES_MAX } };
  const names = await listIfPresent(fs, layout.runs);
  const besideRuns = await countForeign(fs, layout, names);
  const runs: RunSummary[] = [];
  const unreadable: UnreadableRun[] = [];
  for (const id of names.filter(isRunId).sort()) {
    try {
      const run = await summarizeRun(context, runDirectory(layout, id), id);
      if (run !== undefined) runs.push(run);
    } catch (error) {
      unreadable.push({ id, reason: reasonOf(error) });
    }
  }
  const foreignFiles = sum(runs, (run) => run.foreignFiles) + besideRuns;
  return { runs, unreadable, foreignFiles, totals: totalsOf(runs) };
}

async function countForeign(
  fs: FileSystem,
  layout: SpoolLayout,
  runNames: readonly string[],
): Promise<number> {
  const beside = await listIfPresent(fs, layout.root);
  const foreign = [
    ...beside.filter((name) => !OWN_NAMES.has(name)),
    ...runNames.filter((name) => !isRunId(name) && !isTemporary(name)),
  ];
  return foreign.length;
}

function totalsOf(runs: readonly RunSummary[]): SpoolTotals {
  const ages = runs.flatMap(({ oldestPendingAgeMs: age }) => (age === null ? [] : [age]));
  return {
    runs: runs.length,
    pendingEntries: sum(runs, (run) => run.pendingEntries),
    uncountedBytes: sum(runs, (run) => run.uncountedBytes),
    pendingBytes: sum(runs, (run) => run.pendingBytes),
    segments: sum(runs, (run) => run.segments),
    oldestPendingAgeMs: ages.length === 0 ? null : Math.max(...ages),
  };
}

function sum(runs: readonly RunSummary[], figure: (run: RunSummary) => number): number {
  return runs.reduce((total, run) => total + figure(run), 0);
}

import type { ExitStatus } from '../../core/run.js';
import type { DestinationSummary, RunState, RunSummary } from '../../spool/run-summary.js';
import type { SpoolSummary, SpoolTotals, UnreadableRun } from '../../spool/summary.js';

/**
 * What `shipper status --json` prints: a contract. Fields are added and never renamed; readers
 * ignore those they do not know. Null means: not known, or none yet.
 */
export interface StatusDocument {
  /** Absolute path of the spool. */
  readonly spool: string;
  /** Oldest first. */
  readonly runs: readonly StatusRun[];
  /** Runs whose directory cannot be read. */
  readonly unreadable: readonly UnreadableRun[];
  /** Files in the spool that are not shipper's. */
  readonly foreignFiles: number;
  readonly totals: SpoolTotals;
}

export interface StatusRun {
  readonly id: string;
  readonly name: string;
  readonly command: readonly string[];
  readonly host: string;
  /** Process id of the wrapper. */
  readonly pid: number;
  readonly state: RunState;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly exit: ExitStatus | null;
  readonly pendingEntries: number;
  readonly uncountedBytes: number;
  readonly pendingBytes: number;
  readonly segments: number;
  readonly oldestPendingAgeMs: number | null;
  readonly destinations: readonly DestinationSummary[];
  readonly uploaderPid: number | null;
  readonly foreignFiles: number;
  readonly problem: string | null;
}

export function statusDocument(summary: SpoolSummary, root: string): StatusDocument {
  return {
    spool: root,
    runs: summary.runs.map(statusRun),
    unreadable: summary.unreadable,
    foreignFiles: summary.foreignFiles,
    totals: summary.totals,
  };
}

function statusRun(run: RunSummary): StatusRun {
  const { record, state, ...figures } = run;
  const { id, name, command, host, pid, startedAt, end } = record;
  return {
    id,
    name,
    command,
    host,
    pid,
    state,
    startedAt,
    endedAt: end?.endedAt ?? null,
    exit: end?.exit ?? null,
    ...figures,
  };
}

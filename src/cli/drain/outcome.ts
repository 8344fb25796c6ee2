import { EXIT, type ExitCode } from '../../core/exit-codes.js';
import type { RunSummary } from '../../spool/run-summary.js';
import type { SpoolSummary } from '../../spool/summary.js';
import type { DeliveryReport } from '../../upload/delivery.js';

/** What a drain has come to: what it delivered, what is left, and whose it is. */
export interface DrainOutcome {
  readonly report: DeliveryReport;
  /** Runs that are left over: drain is needed again. */
  readonly left: readonly RunSummary[];
  /** Runs whose directory cannot be read. */
  readonly unreadableRuns: number;
  /** Runs that another process delivers now, as a rule their own wrapper. */
  readonly heldRuns: number;
  /** Runs of which everything so far is delivered, and that go on. */
  readonly ongoingRuns: number;
  readonly exitCode: ExitCode;
}

/** @param after the spool as it is after the delivery */
export function drainOutcome(report: DeliveryReport, after: SpoolSummary): DrainOutcome {
  const skipped = new Map(report.skipped);
  const isHeld = ({ record }: RunSummary): boolean => skipped.get(record.id)?.kind === 'held';
  const isOngoing = (run: RunSummary): boolean =>
    run.state === 'live' && report.end === 'done' && !skipped.has(run.record.id);
  const left = after.runs.filter((run) => !isHeld(run) && !isOngoing(run));
  const unreadableRuns = after.unreadable.length;
  const held = after.runs.filter(isHeld);
  // In good hands, but not delivered yet: whoever relies on an empty spool has to look again.
  const isPending = held.some(({ pendingEntries }) => pendingEntries > 0);
  const isDone = left.length === 0 && unreadableRuns === 0 && !isPending;
  return {
    report,
    left,
    unreadableRuns,
    heldRuns: held.length,
    ongoingRuns: after.runs.filter(isOngoing).length,
    exitCode: isDone ? EXIT.ok : failureCode(report, left),
  };
}

function failureCode(report: DeliveryReport, left: readonly RunSummary[]): ExitCode {
  if (report.credentialsRefused) return EXIT.refused;
  // Everything that could be sent was: what is left is damaged, or contradicts the destination.
  const isBlocked = (run: RunSummary): boolean =>
    run.destinations.some(({ lastError }) => lastError !== null);
  return report.end === 'done' && left.some(isBlocked) ? EXIT.data : EXIT.undelivered;
}

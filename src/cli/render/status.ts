import { humanAge, humanBytes } from '../../core/units.js';
import type { DestinationSummary, RunSummary } from '../../spool/run-summary.js';
import type { SpoolSummary, SpoolTotals } from '../../spool/summary.js';
import { counted, figure } from './figures.js';
import { tableLines, type Column } from './table.js';

const COLUMNS: readonly Column[] = [
  { heading: 'RUN', align: 'left' },
  { heading: 'NAME', align: 'left' },
  { heading: 'STATE', align: 'left' },
  { heading: 'ENTRIES', align: 'right' },
  { heading: 'BYTES', align: 'right' },
  { heading: 'SEGMENTS', align: 'right' },
  { heading: 'OLDEST', align: 'right' },
  { heading: 'LAST ACK', align: 'right' },
  { heading: 'DESTINATION', align: 'left' },
];

/**
 * The spool as a table for people: what is pending per run, and under a run what is wrong with it.
 */
export function renderStatus(summary: SpoolSummary, root: string): string {
  const lines: string[] = [];
  if (summary.runs.length > 0) lines.push(...runLines(summary.runs));
  for (const { id, reason } of summary.unreadable) lines.push(`${id}  cannot be read: ${reason}`);
  lines.push(totalLine(summary.totals, root));
  if (summary.foreignFiles > 0) {
    lines.push(`${counted(summary.foreignFiles, 'file')} in it not shipper's: left alone`);
  }
  return `${lines.join('\n')}\n`;
}

function runLines(runs: readonly RunSummary[]): string[] {
  const groups = runs.map((run) => ({ rows: rowsOf(run), notes: notesOf(run) }));
  const [heading = '', ...lines] = tableLines(
    COLUMNS,
    groups.flatMap(({ rows }) => rows),
  );
  const result = [heading];
  for (const { rows, notes } of groups) {
    result.push(...lines.splice(0, rows.length), ...notes.map((note) => `  ${note}`));
  }
  return result;
}

/** A run without destination has one row too; further destinations show only what differs. */
function rowsOf(run: RunSummary): string[][] {
  const [first, ...others] = run.destinations;
  return [
    [
      run.record.id,
      printable(run.record.name),
      run.state,
      entries(run),
      humanBytes(run.pendingBytes),
      figure(run.segments),
      age(run.oldestPendingAgeMs),
      age(first?.lastAckAgeMs ?? null),
      first?.id ?? 'none',
    ],
    ...others.map((other) => destinationRow(other)),
  ];
}

function destinationRow(destination: DestinationSummary): string[] {
  const { pendingEntries, lastAckAgeMs, id } = destination;
  return ['', '', '', figure(pendingEntries), '', '', '', age(lastAckAgeMs), id];
}

function notesOf(run: RunSummary): string[] {
  const notes: string[] = [];
  if (run.problem !== null) notes.push(`${run.problem}: its segments are delivered all the same`);
  if (run.state === 'dead') notes.push('dead: wrapper gone; shipper drain delivers it');
  if (run.state === 'unknown') {
    notes.push(`its wrapper is on ${printable(run.record.host)}, which cannot be seen from here`);
  }
  if (run.uploaderPid !== null && run.state !== 'live') {
    notes.push(`being delivered by process ${String(run.uploaderPid)}`);
  }
  for (const { id, lastError } of run.destinations) {
    if (lastError !== null) notes.push(`last error from ${id}: ${printable(lastError)}`);
  }
  return notes;
}

function totalLine(totals: SpoolTotals, root: string): string {
  if (totals.runs === 0) return `nothing in the spool ${root}`;
  const what = totals.uncountedBytes > 0 ? `${entries(totals)} entries` : pendingText(totals);
  const size = `${humanBytes(totals.pendingBytes)} in ${counted(totals.segments, 'segment')}`;
  return `${counted(totals.runs, 'run')}, ${what}, ${size} pending in ${root}`;
}

function pendingText({ pendingEntries }: SpoolTotals): string {
  return counted(pendingEntries, 'entry', 'entries');
}

/** `+` where open segments were too large to be counted entry by entry. */
function entries(counted: Pick<RunSummary, 'pendingEntries' | 'uncountedBytes'>): string {
  return `${figure(counted.pendingEntries)}${counted.uncountedBytes > 0 ? '+' : ''}`;
}

function age(ms: number | null): string {
  return ms === null ? '-' : humanAge(ms);
}

/** Names come from users: nothing in one may move the cursor or colour the terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?');
}

import { systemClock } from '../../core/clock.js';
import { reasonOf } from '../../core/errors.js';
import { humanBytes } from '../../core/units.js';
import { nodeFileSystem } from '../../disk/node-file-system.js';
import { runDirectory, type SpoolLayout } from '../../spool/layout.js';
import type { RunRecord } from '../../spool/run-record.js';
import { counted } from '../render/figures.js';

export interface Leftovers {
  readonly layout: SpoolLayout;
  readonly record: RunRecord;
  readonly notify: (line: string) => void;
}

/**
 * Says in one line what of a run that has ended is still in the spool, why, and how to deliver it.
 * Silent when everything was delivered.
 *
 * @param trouble the newest reason why delivery did not go on
 */
export async function reportLeftovers(
  { layout, record, notify }: Leftovers,
  trouble: string | undefined,
): Promise<void> {
  try {
    const { summarizeRun } = await import('../../spool/run-summary.js');
    const context = { fs: nodeFileSystem, clock: systemClock, scanBudget: { bytes: 0 } };
    const directory = runDirectory(layout, record.id);
    const left = await summarizeRun(context, directory, record.id);
    if (left === undefined) return;
    const entries = counted(left.pendingEntries, 'entry', 'entries');
    const why = reasonFor(record, trouble);
    const where = `stay in ${layout.root}`;
    notify(
      `shipper: ${why}: ${entries} (${humanBytes(left.pendingBytes)}) ${where}; ` +
        remedy(layout, record),
    );
  } catch (error) {
    notify(`shipper: cannot tell what is left in ${layout.root}: ${reasonOf(error)}`);
  }
}

function reasonFor(record: RunRecord, trouble: string | undefined): string {
  if (record.destinations.length === 0) return 'no destination';
  return `not delivered yet${trouble === undefined ? '' : ` (${trouble})`}`;
}

function remedy(layout: SpoolLayout, record: RunRecord): string {
  const to = record.destinations.length === 0 ? ' --to <url>' : '';
  return `deliver them with: shipper drain --spool ${layout.root}${to}`;
}

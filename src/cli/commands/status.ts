import { systemClock } from '../../core/clock.js';
import { nodeFileSystem } from '../../disk/node-file-system.js';
import { spoolLayout } from '../../spool/layout.js';
import { summarizeSpool } from '../../spool/summary.js';
import type { Invocation } from '../invocation.js';
import { printOut } from '../output.js';
import { renderStatus } from '../render/status.js';
import { statusDocument } from '../render/status-json.js';
import { findSpool, spoolRootOf } from '../spool-location.js';

/**
 * Shows what is in the spool. Takes no lock and changes nothing: it can run beside everything.
 *
 * @throws ShipperError `spool-unusable`
 */
export async function statusCommand({ options, environment }: Invocation): Promise<void> {
  const root = spoolRootOf(options, environment);
  const layout = (await findSpool(nodeFileSystem, root)) ?? spoolLayout(root);
  const summary = await summarizeSpool(nodeFileSystem, systemClock, layout);
  if (options.json) printOut(`${JSON.stringify(statusDocument(summary, root))}\n`);
  else printOut(renderStatus(summary, root));
}

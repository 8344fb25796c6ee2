import { systemClock } from '../../core/clock.js';
import { EXIT } from '../../core/exit-codes.js';
import { nodeFileSystem } from '../../disk/node-file-system.js';
import type { SpoolLayout } from '../../spool/layout.js';
import { summarizeSpool } from '../../spool/summary.js';
import { Delivery, type DeliveryReport } from '../../upload/delivery.js';
import { deliverySettings } from '../delivery-settings.js';
import { createDiagnostics } from '../diagnostics.js';
import { showProgress } from '../drain/meter.js';
import { drainOutcome, type DrainOutcome } from '../drain/outcome.js';
import type { Invocation } from '../invocation.js';
import { printNotice, printOut } from '../output.js';
import { deliveredLine, drainDocument, leftoverLine, noteLines } from '../render/drain.js';
import { findSpool, spoolRootOf } from '../spool-location.js';
import { listenForTermination } from '../termination.js';

/**
 * Delivers what is in the spool and sets the exit code: 0 when nothing is left that is ours to
 * deliver. TERM and INT end it within a second, with what was acknowledged recorded.
 *
 * @throws ShipperError `spool-unusable` or `config`; nothing was sent then
 */
export async function drainCommand(invocation: Invocation): Promise<void> {
  const { options, environment } = invocation;
  const root = spoolRootOf(options, environment);
  const layout = await findSpool(nodeFileSystem, root);
  if (layout === undefined) {
    printNotice(`shipper: nothing to deliver: there is no spool ${root}`);
    if (options.json) printOut(`${JSON.stringify(drainDocument(NOTHING, root))}\n`);
    return;
  }
  const outcome = await deliver(invocation, layout);
  process.exitCode = outcome.exitCode;
  for (const line of noteLines(outcome)) printNotice(line);
  const leftover = leftoverLine(outcome, options);
  if (leftover !== undefined) printNotice(leftover);
  else if (process.stderr.isTTY) printNotice(deliveredLine(outcome, root));
  if (options.json) printOut(`${JSON.stringify(drainDocument(outcome, root))}\n`);
}

async function deliver(invocation: Invocation, layout: SpoolLayout): Promise<DrainOutcome> {
  const { options, environment } = invocation;
  const before = await summarizeSpool(nodeFileSystem, systemClock, layout);
  const log = await createDiagnostics(options);
  const scope = { spoolRoot: layout.root, runId: undefined, to: options.to };
  const delivery = new Delivery(deliverySettings(scope, options, environment), log);
  const termination = listenForTermination();
  termination.signal.addEventListener('abort', () => {
    delivery.stop();
  });
  const endProgress = await showProgress(delivery, before, options.to);
  let report: DeliveryReport;
  try {
    report = await delivery.run({
      kind: 'empty',
      stalledAfterMs: options.stalledAfter,
      timeoutMs: options.timeout ?? Number.POSITIVE_INFINITY,
    });
  } finally {
    endProgress();
    termination.dispose();
  }
  return drainOutcome(report, await summarizeSpool(nodeFileSystem, systemClock, layout));
}

/** The outcome where there is no spool. */
const NOTHING: DrainOutcome = {
  report: {
    end: 'done',
    stats: { requests: 0, batches: 0, entries: 0, bytes: 0, retries: 0 },
    credentialsRefused: false,
    lastError: undefined,
    skipped: [],
  },
  left: [],
  unreadableRuns: 0,
  heldRuns: 0,
  ongoingRuns: 0,
  exitCode: EXIT.ok,
};

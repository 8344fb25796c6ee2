import {
  startCapture,
  type Capture,
  type CapturedStream,
  type CaptureEnd,
} from '../../capture/capture.js';
import { PassThrough } from '../../capture/pass-through.js';
import { SignalForwarder } from '../../capture/signals.js';
import { runUncaptured } from '../../capture/uncaptured.js';
import { systemClock } from '../../core/clock.js';
import { errorLine, reasonOf, ShipperError, systemCode } from '../../core/errors.js';
import type { Options } from '../../core/options.js';
import type { ExitStatus } from '../../core/run.js';
import { nodeFileSystem } from '../../disk/node-file-system.js';
import { createRun } from '../../spool/create-run.js';
import { spoolLayout, type SpoolLayout } from '../../spool/layout.js';
import type { RunRecord } from '../../spool/run-record.js';
import { RunWriter } from '../../spool/run-writer.js';
import type { Invocation } from '../invocation.js';
import { depart } from '../run/departure.js';
import { Delivery } from '../run/delivery.js';
import { DeliveryLog } from '../run/delivery-log.js';
import { usableDestinations } from '../run/destinations.js';
import { reportLeftovers } from '../run/leftovers.js';
import { newRunRecord } from '../run/run-record.js';
import { spoolRootOf } from '../spool-location.js';
import { TroubleReporter } from '../run/trouble.js';
import { holdWriterLock } from '../run/writer-lock.js';

type OwnOutput = Readonly<Record<CapturedStream, PassThrough>>;

/**
 * `shipper run`: wraps a command unnoticed. What is ours comes second: whatever is wrong with spool
 * or delivery is said in a line on stderr, and the command runs.
 *
 * Sets the exit code, or ends the process by the command's signal.
 *
 * @throws ShipperError when the command could not be started
 */
export async function runCommand(invocation: Invocation): Promise<void> {
  const { options, command, environment } = invocation;
  const output = ownOutput();
  const notify = (line: string): void => {
    void output.stderr.write(Buffer.from(`${line}\n`));
  };
  const layout = spoolLayout(spoolRootOf(options, environment));
  const destinations = await usableDestinations(options.to, notify);
  const record = newRunRecord(options, command, destinations, systemClock.wallMs());
  const signals = new SignalForwarder();
  try {
    await createRun(nodeFileSystem, layout, record);
  } catch (error) {
    notify(`${errorLine(error)}; running the command without capturing it`);
    depart(await runUncaptured(command, environment, signals), signals);
    return;
  }
  const run = { options, environment, output, notify, layout, record, signals };
  depart(await captureAndDeliver(run), signals);
}

interface Run {
  readonly options: Options;
  readonly environment: NodeJS.ProcessEnv;
  readonly output: OwnOutput;
  readonly notify: (line: string) => void;
  readonly layout: SpoolLayout;
  readonly record: RunRecord;
  readonly signals: SignalForwarder;
}

async function captureAndDeliver(run: Run): Promise<ExitStatus> {
  const { layout, record, notify } = run;
  const trouble = new TroubleReporter(systemClock, notify);
  const writer = newWriter(run, trouble);
  const capture = await startCommand(run, writer);
  // The command runs. What follows is heavy, and must not delay its start.
  const lock = holdWriterLock(layout, record.id, notify);
  const delivery = deliver(run);
  const end = await capture.ended;
  reportDescendants(end, notify);
  await finishRun(writer, end.exit, notify);
  await lock.release();
  trouble.finish();
  await afterTheEnd(run, delivery);
  return end.exit;
}

/**
 * A command that cannot be started is a run too: it ends at once, with the status that we end with.
 */
async function startCommand(run: Run, writer: RunWriter): Promise<Capture> {
  const { options, record, signals, notify } = run;
  try {
    return await startCapture({
      command: record.command,
      environment: run.environment,
      runId: record.id,
      signals,
      maxEntryBytes: options.maxEntryBytes,
      flushIntervalMs: options.flushInterval,
      passThrough: options.noPassthrough ? undefined : run.output,
      writerOf: (stream) => writer.stream(stream),
    });
  } catch (error) {
    if (error instanceof ShipperError) {
      await finishRun(writer, { code: error.exitCode }, notify);
      await afterTheEnd(run, deliver(run));
    }
    throw error;
  }
}

function deliver(run: Run): Delivery {
  const log = new DeliveryLog(run.options, (line) => {
    run.notify(line.trimEnd());
  });
  return Delivery.start({
    ...run,
    log: (message) => {
      log.write(message);
    },
  });
}

function newWriter({ options, layout, record }: Run, trouble: TroubleReporter): RunWriter {
  return new RunWriter(
    {
      fs: nodeFileSystem,
      layout,
      clock: systemClock,
      settings: {
        segmentMaxBytes: options.segmentMaxBytes,
        segmentMaxEntries: options.segmentMaxEntries,
        flushIntervalMs: options.flushInterval,
        fsync: options.fsync,
      },
      onTrouble: (what) => {
        trouble.report(what);
      },
    },
    record,
  );
}

async function finishRun(
  writer: RunWriter,
  exit: ExitStatus,
  notify: (line: string) => void,
): Promise<void> {
  try {
    await writer.finish(exit);
  } catch (error) {
    notify(
      `shipper: cannot write the final record of the run: ${reasonOf(error)}; ` +
        'its output is in the spool, the next shipper drain delivers it',
    );
  }
}

/** Delivery goes on for a bounded time; the rest stays in the spool and is reported. */
async function afterTheEnd(run: Run, delivery: Delivery): Promise<void> {
  let giveUp: () => void = () => undefined;
  const signalled = new Promise<void>((resolve) => {
    giveUp = resolve;
  });
  run.signals.childEnded(giveUp);
  await delivery.end(run.options.drainTimeout, signalled);
  await reportLeftovers(run, delivery.lastError);
}

function reportDescendants(end: CaptureEnd, notify: (line: string) => void): void {
  if (end.heldOpen.length === 0) return;
  const streams = end.heldOpen.join(' and ');
  notify(
    `shipper: a process that the command has left behind holds ${streams} open; ` +
      'what it prints from now on is not captured',
  );
}

/**
 * Our reader may go away, as `head` does: the run goes on, and there is nobody to tell. A full disk
 * behind our stdout is told on stderr.
 */
function ownOutput(): OwnOutput {
  const stderr = new PassThrough(2, () => undefined);
  const stdout = new PassThrough(1, (error) => {
    if (systemCode(error) === 'EPIPE') return;
    const line = `shipper: cannot copy to our stdout: ${reasonOf(error)}; capture goes on\n`;
    void stderr.write(Buffer.from(line));
  });
  return { stdout, stderr };
}

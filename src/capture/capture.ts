import { closeSync } from 'node:fs';
import type { ExitStatus } from '../core/run.js';
import { within } from '../core/within.js';
import type { StreamWriter } from '../spool/stream-writer.js';
import { startChild, type Child } from './child.js';
import { openPipes } from './fifo.js';
import type { PassThrough } from './pass-through.js';
import type { SignalForwarder } from './signals.js';
import { StreamIntake } from './stream-intake.js';
import { FallbackReader, PipeReader, type StreamReader } from './stream-reader.js';

/**
 * How long to go on reading for descendants that keep the pipes open after the command has ended.
 * As s6-log waits for the rest of a line: long enough for a last word, short enough not to be felt
 * as a hang.
 */
const DESCENDANTS_WAIT_MS = 2_000;

export type CapturedStream = 'stdout' | 'stderr';

export interface CaptureParts {
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly runId: string;
  readonly signals: SignalForwarder;
  readonly maxEntryBytes: number;
  readonly flushIntervalMs: number;
  /** Our own output; undefined: the command's output is not copied there. */
  readonly passThrough: Readonly<Record<CapturedStream, PassThrough>> | undefined;
  readonly writerOf: (stream: CapturedStream) => Pick<StreamWriter, 'append' | 'pressure'>;
}

export interface Capture {
  readonly pid: number;
  /** Resolves when the command has ended and its output is taken. */
  readonly ended: Promise<CaptureEnd>;
}

export interface CaptureEnd {
  readonly exit: ExitStatus;
  /** Streams that descendants still held open when we stopped reading them. */
  readonly heldOpen: readonly CapturedStream[];
}

/**
 * Starts the command and captures both of its streams.
 *
 * A run is complete when the command has exited *and* its streams are drained, within a limit:
 * `exit` alone comes before the last output is read, and waiting for the end of the streams without
 * a limit hangs as long as any descendant holds them.
 *
 * @throws ShipperError of `startChild`; nothing was captured then
 */
export async function startCapture(parts: CaptureParts): Promise<Capture> {
  const [stdout, stderr] = openPipes(2) ?? [];
  const output = stdout === undefined || stderr === undefined ? 'node-pipes' : { stdout, stderr };
  const { command, environment, runId } = parts;
  const child = await startChild({ command, environment, runId, output }).catch(
    (error: unknown) => {
      for (const pipe of [stdout, stderr]) if (pipe !== undefined) closeSync(pipe.readFd);
      throw error;
    },
  );
  parts.signals.attach(child);
  const readers = {
    stdout: readerFor('stdout', stdout?.readFd, child, parts),
    stderr: readerFor('stderr', stderr?.readFd, child, parts),
  };
  return { pid: child.pid, ended: captureEnd(child, readers) };
}

function readerFor(
  stream: CapturedStream,
  readFd: number | undefined,
  child: Child,
  parts: CaptureParts,
): StreamReader {
  const writer = parts.writerOf(stream);
  const intake = new StreamIntake({
    maxEntryBytes: parts.maxEntryBytes,
    flushIntervalMs: parts.flushIntervalMs,
    append: (body, entries) => {
      writer.append(body, entries);
    },
    pressure: () => writer.pressure(),
    passThrough: parts.passThrough?.[stream],
  });
  if (readFd !== undefined) return new PipeReader(readFd, intake);
  if (child.fallback === undefined) throw new Error('broken invariant: a child without pipes');
  return new FallbackReader(child.fallback[stream], intake);
}

async function captureEnd(
  child: Child,
  readers: Readonly<Record<CapturedStream, StreamReader>>,
): Promise<CaptureEnd> {
  const exit = await child.exited;
  const open = new Set<CapturedStream>(['stdout', 'stderr']);
  const ended = [...open].map(async (stream) => {
    readers[stream].takeWhatIsThere();
    await readers[stream].ended;
    open.delete(stream);
  });
  await within(Promise.all(ended), DESCENDANTS_WAIT_MS);
  const heldOpen = [...open];
  for (const stream of heldOpen) readers[stream].abandon();
  await Promise.all([readers.stdout.settled, readers.stderr.settled]);
  return { exit, heldOpen };
}

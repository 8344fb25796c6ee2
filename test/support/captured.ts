import { startCapture, type CaptureEnd, type CapturedStream } from '../../src/capture/capture.js';
import { SignalForwarder } from '../../src/capture/signals.js';

/** What a command printed, by stream, and how it ended. */
export interface Captured {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly end: CaptureEnd;
}

/** Captures a command into memory, without spool and without our own output. */
export async function captured(
  command: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Captured> {
  const parts: Record<CapturedStream, Buffer[]> = { stdout: [], stderr: [] };
  const signals = new SignalForwarder();
  try {
    const capture = await startCapture({
      command,
      environment,
      runId: '01TEST',
      signals,
      maxEntryBytes: 1000,
      flushIntervalMs: 100,
      passThrough: undefined,
      writerOf: (stream) => ({
        append: (body) => parts[stream].push(Buffer.concat(body)),
        pressure: () => undefined,
      }),
    });
    const end = await capture.ended;
    return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr), end };
  } finally {
    signals.remove();
  }
}

import { join } from 'node:path';
import type { RunTotals, StreamTotals } from '../core/run.js';
import type { StreamName } from '../core/stream.js';
import { removeFile } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import type { Logger } from '../telemetry/log.js';
import { ringBell } from './bell.js';
import { runDirectory, writerLockPath, type SpoolLayout } from './layout.js';
import { listRun, type OpenSegment } from './listing.js';
import { acquireLock } from './lock.js';
import { readMarks } from './marks.js';
import { livenessOf } from './process-identity.js';
import { readRunRecord, writeRunRecord, type RunRecord } from './run-record.js';
import { scanSegment } from './scan-segment.js';
import { sealSegment } from './seal.js';

/**
 * Recovery of a run whose writer is dead: S5, every intact frame of its `.open` files is kept, a
 * torn tail is cut, the file is sealed; and a run without an end gets the end "unknown".
 *
 * A file with frames that are not its own, or of a newer format, is not what a writer of ours has
 * left. It is left alone, and so it is seen; nothing intact is ever cut off or removed.
 *
 * It is idempotent. If the process dies
 * - after a tail was cut: the next recovery finds a file without a torn tail;
 * - after some files were sealed: it seals the others;
 * - before the record is written: the run still has no end, and everything is sealed already.
 *
 * The writer's lock keeps two recoveries apart, and a writer that was only stopped is never taken
 * for dead (`process-identity.ts`).
 */
export interface RecoveryParts {
  readonly fs: FileSystem;
  readonly layout: SpoolLayout;
  readonly log: Logger;
}

export type RecoveryOutcome =
  /** Its writer lives: its open segments are its own. */
  | { readonly kind: 'live' }
  /** Another process is recovering it. */
  | { readonly kind: 'busy' }
  /** Every segment is sealed and the end is recorded, now or already before. */
  | { readonly kind: 'recovered'; readonly record: RunRecord };

/**
 * @throws the system error of the step that failed; what was sealed stays sealed, the rest is as it
 * was.
 */
export async function recoverRun(parts: RecoveryParts, runId: string): Promise<RecoveryOutcome> {
  const { fs, layout } = parts;
  const directory = runDirectory(layout, runId);
  const { record } = await readRunRecord(fs, directory, runId);
  if (record.end !== null && !(await hasOpenSegments(fs, directory))) {
    return { kind: 'recovered', record };
  }
  if (record.writer !== null && livenessOf(record.writer) === 'alive') return { kind: 'live' };
  // A writer that cannot be judged from here, or that nobody knows, may still hold its lock.
  const attempt = await acquireLock(writerLockPath(directory), () => undefined);
  if (attempt.kind === 'held') return { kind: record.writer === null ? 'live' : 'busy' };
  try {
    return { kind: 'recovered', record: await recoverLockedRun(parts, runId) };
  } finally {
    await attempt.lock.release();
  }
}

async function hasOpenSegments(fs: FileSystem, directory: string): Promise<boolean> {
  return (await listRun(fs, directory)).open.size > 0;
}

/**
 * As `recoverRun`, for who holds the writer's lock and knows that the writer is dead.
 *
 * @throws the system error of the step that failed
 */
export async function recoverLockedRun(parts: RecoveryParts, runId: string): Promise<RunRecord> {
  const { fs, layout } = parts;
  const directory = runDirectory(layout, runId);
  const { open } = await listRun(fs, directory);
  for (const segments of open.values()) {
    for (const segment of segments) await sealRecovered(parts, directory, segment);
  }
  const { kind, record } = await readRunRecord(fs, directory, runId);
  if (record.end !== null) return record;
  const recovered = { ...record, end: await unknownEnd(fs, directory) };
  // A damaged record is kept as it is: somebody may still read something from it.
  if (kind === 'record') await writeRunRecord(fs, directory, recovered);
  await ringBell(fs, layout, runId).catch(() => undefined);
  return recovered;
}

/** Keeps the intact frames of one `.open` file. A file without any is removed. */
async function sealRecovered(
  { fs, log }: RecoveryParts,
  directory: string,
  segment: OpenSegment,
): Promise<void> {
  const path = join(directory, segment.name);
  const content = await scanSegment(fs, path, segment.first);
  if (content.end.kind === 'newer' || content.end.kind === 'misplaced') {
    log.warn({ file: path, at: content.end.at }, `left alone: ${content.end.reason}`);
    return;
  }
  const entries = content.last - segment.first + 1;
  if (entries === 0) {
    await removeFile(fs, path);
    return;
  }
  const { stream, first } = segment;
  const file = fs.openAppend(path);
  const hasTornTail = content.end.kind !== 'complete';
  log.info({ file: path, entries }, 'sealed the segment that a killed wrapper has left');
  const closed = { stream, first, entries, bytes: content.intactBytes, file, hasTornTail };
  await sealSegment(fs, directory, closed, 'segment');
}

/**
 * What can be said of a run whose end nobody saw: how far its streams reach. What was delivered and
 * removed already is known from the marks; where those are lost, from the destination.
 */
async function unknownEnd(fs: FileSystem, directory: string): Promise<RunTotals> {
  const last = new Map<StreamName, number>();
  const reach = (stream: StreamName, to: number): void => {
    last.set(stream, Math.max(to, last.get(stream) ?? 0));
  };
  for (const { marks } of Object.values((await readMarks(fs, directory)).sinks)) {
    for (const [stream, mark] of Object.entries(marks)) reach(stream as StreamName, mark);
  }
  for (const segments of (await listRun(fs, directory)).sealed.values()) {
    for (const segment of segments) reach(segment.stream, segment.last);
  }
  const streams: Partial<Record<StreamName, StreamTotals>> = {};
  for (const [stream, to] of last) streams[stream] = { last: to, bytes: null, sha256: null };
  return { streams, exit: { unknown: true }, gaps: 0, endedAt: null };
}

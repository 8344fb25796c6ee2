import { basename } from 'node:path';
import type { Clock } from '../core/clock.js';
import { systemCode } from '../core/errors.js';
import type { FileSystem, MeasuredFile } from '../disk/file-system.js';
import { runRecordPath, uploaderLockPath, writerLockPath } from './layout.js';
import { arrange } from './listing.js';
import { lockOwner } from './lock.js';
import { NEW_SINK_MARKS, readMarks, type Marks } from './marks.js';
import {
  countOpen,
  countPending,
  measuredSegments,
  oldestPendingNs,
  settledMarks,
  type CountedSegment,
  type ScanBudget,
} from './pending.js';
import { livenessOf } from './process-identity.js';
import { readRunRecord, type RunRecord, type RunRecordReading } from './run-record.js';

/**
 * What can be said about a run from names, sizes and its two small files, while it lives or after
 * its wrapper was killed. Nothing is locked and nothing is changed. Files may come and go
 * meanwhile: each figure was true at some moment of the reading.
 */
export interface RunSummary {
  readonly record: RunRecord;
  readonly state: RunState;
  /** Entries not yet confirmed by every destination, as far as they were counted. */
  readonly pendingEntries: number;
  /** Bytes of open segments that were too large to be counted entry by entry. */
  readonly uncountedBytes: number;
  /** Bytes of the segment files, frame headers included. */
  readonly pendingBytes: number;
  readonly segments: number;
  /**
   * Age of the first entry of the oldest segment that holds pending ones; null when there is none.
   */
  readonly oldestPendingAgeMs: number | null;
  readonly destinations: readonly DestinationSummary[];
  /** Process id of the uploader that works on the run now. */
  readonly uploaderPid: number | null;
  /** Files that are not ours: left alone. */
  readonly foreignFiles: number;
  /** What is wrong with the run's own files; null when nothing is. */
  readonly problem: string | null;
}

/**
 * `live`: its wrapper runs. `ended`: the end is recorded. `dead`: the wrapper is gone without
 * recording one. `unknown`: the wrapper is on another host or in another container.
 */
export type RunState = 'live' | 'ended' | 'dead' | 'unknown';

export interface DestinationSummary {
  /** The URL, without credentials. */
  readonly id: string;
  readonly pendingEntries: number;
  /** ISO 8601; null before the first acknowledgement. */
  readonly lastAckAt: string | null;
  readonly lastAckAgeMs: number | null;
  /** The newest trouble in words; null after a success. */
  readonly lastError: string | null;
  /** The destination has confirmed the end of the run. */
  readonly finished: boolean;
}

export interface SummaryContext {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly scanBudget: ScanBudget;
}

/** Undefined when the run is gone, or is no more than the rest of one. */
export async function summarizeRun(
  context: SummaryContext,
  directory: string,
  runId: string,
): Promise<RunSummary | undefined> {
  const { fs } = context;
  const files = await measureIfPresent(fs, directory);
  const segments = measuredSegments(files);
  if (
    segments.length === 0 &&
    !files.some(({ name }) => name === basename(runRecordPath(directory)))
  )
    return undefined;
  const reading = await readRunRecord(fs, directory, runId);
  const marks = await readMarks(fs, directory);
  const sinkIds = [...new Set([...reading.record.destinations, ...Object.keys(marks.sinks)])];
  const counted = await countOpen(fs, directory, segments, context.scanBudget);
  const settled = settledMarks(marks, sinkIds);
  const oldestNs = await oldestPendingNs(fs, directory, counted, settled);
  return {
    record: reading.record,
    state: stateOf(directory, reading),
    pendingEntries: countPending(counted, settled),
    uncountedBytes: sumBytes(counted.filter(({ last }) => last === undefined)),
    pendingBytes: sumBytes(segments),
    segments: segments.length,
    oldestPendingAgeMs: oldestNs === undefined ? null : ageMs(context.clock, oldestNs),
    destinations: sinkIds.map((id) => summarizeDestination(context.clock, id, marks, counted)),
    uploaderPid: lockOwner(uploaderLockPath(directory))?.pid ?? null,
    foreignFiles: arrange(files.map(({ name }) => name)).foreign.length,
    problem: reading.kind === 'unreadable' ? reading.reason : null,
  };
}

async function measureIfPresent(fs: FileSystem, directory: string): Promise<MeasuredFile[]> {
  try {
    return await fs.measure(directory);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function sumBytes(segments: readonly { readonly sizeBytes: number }[]): number {
  return segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function summarizeDestination(
  clock: Clock,
  id: string,
  marks: Marks,
  counted: readonly CountedSegment[],
): DestinationSummary {
  const { lastAckAt, lastError, finished, marks: own } = marks.sinks[id] ?? NEW_SINK_MARKS;
  return {
    id,
    pendingEntries: countPending(counted, (stream) => own[stream] ?? 0),
    lastAckAt,
    lastAckAgeMs: lastAckAt === null ? null : Math.max(0, clock.wallMs() - Date.parse(lastAckAt)),
    lastError,
    finished,
  };
}

/** The clock that labelled the entry may have been ahead of ours: no age is negative. */
function ageMs(clock: Clock, timeNs: bigint): number {
  return Math.max(0, Number((clock.wallNs() - timeNs) / 1_000_000n));
}

function stateOf(directory: string, reading: RunRecordReading): RunState {
  const { end, writer } = reading.record;
  if (end !== null) return 'ended';
  const owner = lockOwner(writerLockPath(directory)) ?? writer;
  if (owner === null) return 'dead';
  const liveness = livenessOf(owner);
  return liveness === 'alive' ? 'live' : liveness;
}

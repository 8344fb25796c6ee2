import { join } from 'node:path';
import { systemCode } from '../core/errors.js';
import type { StreamName } from '../core/stream.js';
import type { FileSystem, MeasuredFile } from '../disk/file-system.js';
import { MAX_HEADER_BYTES, parseHeader } from '../frames/frame.js';
import type { Marks } from './marks.js';
import { scanSegment } from './scan-segment.js';
import { parseSegmentName } from './segment-name.js';

/**
 * What of a run is still to be delivered, told from names and sizes; only open segments, whose
 * names do not say how many entries they hold, and the first header of the oldest one are read.
 */
export interface CountedSegment {
  readonly name: string;
  readonly sizeBytes: number;
  readonly stream: StreamName;
  readonly first: number;
  /** The highest sequence; undefined for an open segment that was not counted. */
  readonly last: number | undefined;
}

/** How many bytes of open segments may still be read to count their entries. */
export interface ScanBudget {
  bytes: number;
}

/** The highest sequence of a stream that needs no delivery any more; 0 for none. */
export type MarkOf = (stream: StreamName) => number;

/** The segments among the files of a run, by first sequence; open ones are not counted yet. */
export function measuredSegments(files: readonly MeasuredFile[]): CountedSegment[] {
  const segments: CountedSegment[] = [];
  for (const { name, sizeBytes } of files) {
    const parsed = parseSegmentName(name);
    if (parsed === undefined) continue;
    const { stream, first } = parsed;
    const last = parsed.state === 'sealed' ? parsed.last : undefined;
    segments.push({ name, sizeBytes, stream, first, last });
  }
  return segments.sort((a, b) => a.first - b.first);
}

/** Counts the entries of open segments by reading them, as far as the budget goes. */
export async function countOpen(
  fs: FileSystem,
  directory: string,
  segments: readonly CountedSegment[],
  budget: ScanBudget,
): Promise<CountedSegment[]> {
  const counted: CountedSegment[] = [];
  for (const segment of segments) {
    const { last, sizeBytes, name, first } = segment;
    if (last !== undefined || sizeBytes > budget.bytes) {
      counted.push(segment);
      continue;
    }
    budget.bytes -= sizeBytes;
    const content = await unlessGone(() => scanSegment(fs, join(directory, name), first));
    if (content !== undefined) counted.push({ ...segment, last: content.last });
  }
  return counted;
}

/** What every one of the destinations has confirmed; without a destination, nothing. */
export function settledMarks(marks: Marks, sinkIds: readonly string[]): MarkOf {
  if (sinkIds.length === 0) return () => 0;
  return (stream) => Math.min(...sinkIds.map((id) => marks.sinks[id]?.marks[stream] ?? 0));
}

/** Entries above the mark, as far as they were counted. */
export function countPending(segments: readonly CountedSegment[], settled: MarkOf): number {
  let entries = 0;
  for (const { stream, first, last } of segments) {
    if (last !== undefined) entries += Math.max(0, last - Math.max(first - 1, settled(stream)));
  }
  return entries;
}

/**
 * The time of the first frame in the oldest segment that holds pending entries, over all streams.
 * From the frame itself: a file's mtime says when it was copied, not more.
 */
export async function oldestPendingNs(
  fs: FileSystem,
  directory: string,
  segments: readonly CountedSegment[],
  settled: MarkOf,
): Promise<bigint | undefined> {
  const oldest = new Map<StreamName, CountedSegment>();
  for (const segment of segments) {
    const isPending = segment.last === undefined || segment.last > settled(segment.stream);
    if (isPending && !oldest.has(segment.stream)) oldest.set(segment.stream, segment);
  }
  let oldestNs: bigint | undefined;
  for (const { name } of oldest.values()) {
    const timeNs = await unlessGone(() => firstTimeNs(fs, join(directory, name)));
    if (timeNs !== undefined && (oldestNs === undefined || timeNs < oldestNs)) oldestNs = timeNs;
  }
  return oldestNs;
}

/** The time in the first frame header; undefined when there is none. */
async function firstTimeNs(fs: FileSystem, path: string): Promise<bigint | undefined> {
  const file = await fs.openRead(path);
  try {
    const start = Buffer.allocUnsafe(MAX_HEADER_BYTES);
    const bytes = start.subarray(0, await file.read(start, 0));
    const parsed = parseHeader(bytes.subarray(0, Math.max(0, bytes.indexOf('\n'))));
    return 'fault' in parsed ? undefined : BigInt(parsed.header.t);
  } finally {
    await file.close();
  }
}

/** A segment may be sealed or removed while we look: then its successor or its absence counts. */
async function unlessGone<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

import { crc32 } from 'node:zlib';
import { isCount, parseObject } from '../core/json.js';
import { isStreamName, type StreamName } from '../core/stream.js';
import { commitFile, readIfPresent } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import { marksPath } from './layout.js';

/**
 * `marks.json`: what each destination has confirmed of a run, and how delivery to it goes. Written
 * by the run's uploader, read by `status`.
 *
 * It is small, checksummed and disposable. If it is lost or damaged, the segments and the
 * destination's own mark say the same; at worst a batch is sent again. So it is replaced in one
 * step but not synced.
 */
export interface Marks {
  /** By sink id. */
  readonly sinks: Readonly<Record<string, SinkMarks>>;
}

export interface SinkMarks {
  /** Highest N with 1…N settled; a stream that is missing is at 0. */
  readonly marks: Readonly<Partial<Record<StreamName, number>>>;
  /** The highest epoch this spool has used there. */
  readonly epoch: number;
  /** The destination has confirmed the end of the run. */
  readonly finished: boolean;
  /** ISO 8601; null before the first acknowledgement. */
  readonly lastAckAt: string | null;
  /** The newest trouble in words; null after a success. */
  readonly lastError: string | null;
}

export const NO_MARKS: Marks = { sinks: {} };

export const NEW_SINK_MARKS: SinkMarks = {
  marks: {},
  epoch: 0,
  finished: false,
  lastAckAt: null,
  lastError: null,
};

/** Replaces the file in one step. @throws the system error; the old file is intact. */
export async function writeMarks(fs: FileSystem, directory: string, marks: Marks): Promise<void> {
  const body = JSON.stringify(marks.sinks);
  const content = `{"v":1,"crc":"${checksum(body)}","sinks":${body}}\n`;
  await commitFile(fs, marksPath(directory), Buffer.from(content), 'atomic');
}

/** No marks when the file is missing, damaged or of a newer version. */
export async function readMarks(fs: FileSystem, directory: string): Promise<Marks> {
  const content = await readIfPresent(fs, marksPath(directory));
  const match = /^\{"v":1,"crc":"([0-9a-f]{8})","sinks":(.*)\}\n$/s.exec(content?.toString() ?? '');
  if (match?.[2] === undefined || checksum(match[2]) !== match[1]) return NO_MARKS;
  const sinks = parseObject(match[2]);
  return isSinks(sinks) ? { sinks } : NO_MARKS;
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

function isSinks(value: Record<string, unknown> | undefined): value is Record<string, SinkMarks> {
  return value !== undefined && Object.values(value).every(isSinkMarks);
}

function isSinkMarks(value: unknown): value is SinkMarks {
  if (typeof value !== 'object' || value === null) return false;
  const { marks, epoch, finished, lastAckAt, lastError } = value as Record<string, unknown>;
  if (typeof marks !== 'object' || marks === null) return false;
  return (
    Object.entries(marks).every(([stream, mark]) => isStreamName(stream) && isCount(mark)) &&
    isCount(epoch) &&
    typeof finished === 'boolean' &&
    [lastAckAt, lastError].every((text) => text === null || typeof text === 'string')
  );
}

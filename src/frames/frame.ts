import { crc32 } from 'node:zlib';
import { isCount, parseObject } from '../core/json.js';
import { assert } from '../core/assert.js';

/**
 * A frame: one header line of JSON, then the exact bytes of its entries.
 *
 *     {"v":1,"seq":413,"n":3,"t":"1764500000123456789","o":77,"len":42,"crc":"89abcdef"}\n
 *     └──────────────── covered by crc, with the body ────────────────┘
 *     first line\nsecond line, longer\nthird line\n      ← len bytes
 *
 * The checksum is the CRC-32 (zlib's) of the header up to but without `,"crc"`, followed by the
 * body.
 * `crc` is always the last field, so that every other field is covered. Readers ignore unknown
 * fields.
 */

/** Format version; another one is left alone by readers of this one. */
const FRAME_VERSION = 1;

/** A reader refuses a longer body before it allocates: a damaged length must not cost memory. */
export const MAX_BODY_BYTES: number = 4 * 1024 * 1024;

/** Real headers have about 100 bytes; a line longer than this is no header. */
export const MAX_HEADER_BYTES = 1024;

/** The tail of every header line, of fixed length: `,"crc":"89abcdef"}`. */
const CRC_TAIL_BYTES = 18;

export const GAP_REASONS = [
  'spool-full',
  'disk-full',
  'io-error',
  'crash',
  'server-regressed',
] as const;

export type GapReason = (typeof GAP_REASONS)[number];

/** What an entry stands for when the entries themselves were dropped. */
export interface Gap {
  readonly entries: number;
  readonly bytes: number;
  readonly why: GapReason;
}

export interface FrameHeader {
  /** Sequence of the first entry, from 1. */
  readonly seq: number;
  /** Number of entries, at least 1. */
  readonly n: number;
  /** Wall-clock time of the read in ns, decimal: it exceeds what a double holds exactly. */
  readonly t: string;
  /** Order of the frame among all frames of the run: read order. */
  readonly o: number;
  /** Bytes of the body. */
  readonly len: number;
  readonly gap?: Gap;
}

/** The highest sequence in the frame. */
export function lastSeqOf(header: FrameHeader): number {
  return header.seq + header.n - 1;
}

/**
 * The header line of a frame, its newline included, ready to be written before `body`.
 *
 * @param body the parts of the body, in order; together `header.len` bytes, at most
 * `MAX_BODY_BYTES`
 */
export function encodeHeader(header: FrameHeader, body: readonly Uint8Array[]): Buffer {
  assert(header.len <= MAX_BODY_BYTES, 'a body that is written is not longer than a reader takes');
  const gap = header.gap === undefined ? '' : `,"gap":${encodeGap(header.gap)}`;
  const covered =
    `{"v":1,"seq":${String(header.seq)},"n":${String(header.n)},"t":"${header.t}",` +
    `"o":${String(header.o)},"len":${String(header.len)}${gap}`;
  let crc = crc32(covered);
  for (const part of body) crc = crc32(part, crc);
  return Buffer.from(`${covered},"crc":"${crc.toString(16).padStart(8, '0')}"}\n`, 'latin1');
}

function encodeGap(gap: Gap): string {
  return JSON.stringify({ entries: gap.entries, bytes: gap.bytes, why: gap.why });
}

/** A header that parsed; its checksum is still to be compared with the body. */
export interface ParsedHeader {
  readonly header: FrameHeader;
  /** What the body must make of `crcSoFar`. */
  readonly crc: number;
  /** The checksum of the covered part of the header line. */
  readonly crcSoFar: number;
}

/** Why bytes are no frame of version 1. `version` means: a newer writer's, to be left alone. */
export interface HeaderFault {
  readonly fault: 'malformed' | 'version';
  readonly reason: string;
}

/**
 * Parses one header line (without its newline). Never throws, whatever the bytes are.
 */
export function parseHeader(line: Buffer): ParsedHeader | HeaderFault {
  const tail = /^,"crc":"([0-9a-f]{8})"\}$/.exec(
    line.toString('latin1', line.length - CRC_TAIL_BYTES),
  );
  const fields = parseObject(line.toString('utf8'));
  if (fields === undefined) return malformed('the header is not a JSON object');
  const version = fields['v'];
  if (isCount(version, FRAME_VERSION + 1)) {
    return {
      fault: 'version',
      reason: `format version ${String(version)} is newer than this reader`,
    };
  }
  if (version !== FRAME_VERSION) return malformed('the header has no format version');
  if (tail?.[1] === undefined) return malformed('the header does not end with its checksum');
  const header = headerOf(fields);
  if (header === undefined) return malformed('a header field is missing or out of bounds');
  const covered = line.subarray(0, line.length - CRC_TAIL_BYTES);
  return { header, crc: Number.parseInt(tail[1], 16), crcSoFar: crc32(covered) };
}

function malformed(reason: string): HeaderFault {
  return { fault: 'malformed', reason };
}

function headerOf(fields: Record<string, unknown>): FrameHeader | undefined {
  const { seq, n, t, o, len, gap } = fields;
  if (!isCount(seq, 1) || !isCount(n, 1) || !isCount(seq + n, 2)) return undefined;
  if (typeof t !== 'string' || !/^\d{1,20}$/.test(t)) return undefined;
  if (!isCount(o, 0) || !isCount(len, 0) || len > MAX_BODY_BYTES) return undefined;
  if (gap === undefined) return len < n ? undefined : { seq, n, t, o, len };
  if (!isGap(gap) || n !== 1 || len !== 0) return undefined;
  return { seq, n, t, o, len, gap };
}

function isGap(value: unknown): value is Gap {
  if (typeof value !== 'object' || value === null) return false;
  const { entries, bytes, why } = value as Record<string, unknown>;
  return isCount(entries, 0) && isCount(bytes, 0) && GAP_REASONS.some((reason) => reason === why);
}

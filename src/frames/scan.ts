import { crc32 } from 'node:zlib';
import { MAX_HEADER_BYTES, parseHeader, type FrameHeader } from './frame.js';

const NEWLINE = 0x0a;

/** A frame at its place in a buffer. `start`…`end` is all of it, `bodyStart`…`end` its entries. */
export interface PlacedFrame extends FrameHeader {
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
}

/**
 * How a scan ended. `complete`: at the end of the bytes. `torn`: what is left is the beginning of a
 * frame, normal at the tail of a file that is being written. `damaged`: these bytes can never
 * become a frame. `newer`: a frame of a later format version.
 */
export type ScanEnd =
  | { readonly kind: 'complete'; readonly at: number }
  | { readonly kind: 'torn'; readonly at: number }
  | { readonly kind: 'damaged'; readonly at: number; readonly reason: string }
  | { readonly kind: 'newer'; readonly at: number; readonly reason: string };

export interface Scan {
  readonly frames: readonly PlacedFrame[];
  readonly end: ScanEnd;
}

/**
 * Every intact frame from `from` on, checksums compared, up to the first that is not. Never throws
 * and never invents a frame, whatever the bytes are. Bodies are not copied.
 */
export function scanFrames(bytes: Buffer, from = 0): Scan {
  const frames: PlacedFrame[] = [];
  let at = from;
  for (;;) {
    const next = frameAt(bytes, at);
    if ('kind' in next) return { frames, end: next };
    frames.push(next);
    at = next.end;
  }
}

/** The frame that starts at `at`, or why there is none. */
export function frameAt(bytes: Buffer, at: number): PlacedFrame | ScanEnd {
  if (at === bytes.length) return { kind: 'complete', at };
  const window = bytes.subarray(at, at + MAX_HEADER_BYTES);
  const length = window.indexOf(NEWLINE);
  if (length === -1) {
    if (window.length < MAX_HEADER_BYTES && canBeginHeader(window)) return { kind: 'torn', at };
    return { kind: 'damaged', at, reason: 'no header line' };
  }
  const parsed = parseHeader(window.subarray(0, length));
  if ('fault' in parsed) {
    return { kind: parsed.fault === 'version' ? 'newer' : 'damaged', at, reason: parsed.reason };
  }
  const bodyStart = at + length + 1;
  const end = bodyStart + parsed.header.len;
  if (end > bytes.length) return { kind: 'torn', at };
  if (crc32(bytes.subarray(bodyStart, end), parsed.crcSoFar) !== parsed.crc) {
    return { kind: 'damaged', at, reason: 'checksum mismatch' };
  }
  return { ...parsed.header, start: at, bodyStart, end };
}

/** Zeroes after a power cut are damage, not the beginning of a header. */
function canBeginHeader(bytes: Buffer): boolean {
  return bytes[0] === 0x7b;
}

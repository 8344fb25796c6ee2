import { parseObject } from '../core/json.js';
import { parseHeader, type FrameHeader, type ParsedHeader } from '../frames/frame.js';
import type { PlacedFrame } from '../frames/scan.js';

/**
 * A line of the index: the frame's header, as it came, plus `at`, where its body begins in the
 * `.log`:
 *
 *     {"v":1,"seq":413,"n":3,"t":"…","o":77,"len":42,"crc":"89abcdef","at":884213}\n
 *
 * With the header's checksum the body in the `.log` can be checked at any time.
 */
export interface IndexEntry {
  readonly header: FrameHeader;
  readonly parsed: ParsedHeader;
  /** Offset of the body in the `.log`. */
  readonly at: number;
}

/** The line for a frame that lies in `bytes`, its newline included. */
export function encodeIndexLine(bytes: Buffer, frame: PlacedFrame, at: number): string {
  // Without the closing brace and the newline.
  const header = bytes.toString('latin1', frame.start, frame.bodyStart - 2);
  return `${header},"at":${String(at)}}\n`;
}

/** Undefined for a line that is not whole: the torn tail of a crash. Never throws. */
export function parseIndexLine(line: Buffer): IndexEntry | undefined {
  const text = line.toString('latin1');
  const comma = text.lastIndexOf(',"at":');
  const at = parseObject(text)?.['at'];
  if (comma === -1 || typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0)
    return undefined;
  const parsed = parseHeader(Buffer.from(`${text.slice(0, comma)}}`, 'latin1'));
  if ('fault' in parsed) return undefined;
  return { header: parsed.header, parsed, at };
}

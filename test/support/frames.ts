import fc from 'fast-check';
import { countEntries } from '../../src/frames/entries.js';
import { encodeHeader, type FrameHeader } from '../../src/frames/frame.js';

const TIME_NS = '1764500000123456789';

/** A whole frame: header line and body. What the body does not tell is a fixed value. */
export function frameOf(
  seq: number,
  body: string | Buffer,
  more: Partial<FrameHeader> = {},
): Buffer {
  const bytes = Buffer.from(body);
  const header = { seq, n: countEntries(bytes), t: TIME_NS, o: seq, len: bytes.length, ...more };
  return Buffer.concat([encodeHeader(header, [bytes]), bytes]);
}

/** A gap entry. */
export function gapOf(seq: number, entries: number, bytes: number): Buffer {
  return frameOf(seq, '', { n: 1, gap: { entries, bytes, why: 'disk-full' } });
}

/** Contiguous frames, one per body, the first of them from sequence 1 on. */
export function framesOf(bodies: readonly (string | Buffer)[]): Buffer {
  let seq = 1;
  const frames = bodies.map((body) => {
    const bytes = frameOf(seq, body);
    seq += countEntries(Buffer.from(body));
    return bytes;
  });
  return Buffer.concat(frames);
}

/** Bodies as programs print them: any bytes, with newlines in plenty. */
export const bodies: fc.Arbitrary<Buffer> = fc
  .array(fc.oneof(fc.constant(0x0a), fc.integer({ min: 0, max: 255 })), {
    minLength: 1,
    maxLength: 60,
  })
  .map((bytes) => Buffer.from(bytes));

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeHeader, MAX_HEADER_BYTES } from '../../src/frames/frame.js';
import { frameAt, scanFrames, type PlacedFrame } from '../../src/frames/scan.js';
import { bodies, frameOf, framesOf, gapOf } from '../support/frames.js';

/** Three frames, one of them a gap; small, so that every bit of them can be tried. */
const three = Buffer.concat([frameOf(1, 'one\ntwo\n'), gapOf(3, 5, 70), frameOf(4, 'x\0\xff\n')]);

/** The bytes of a frame as its fields say. Equal to what stands there: nothing was invented. */
function encoded(bytes: Buffer, frame: PlacedFrame): Buffer {
  const { start: _start, bodyStart, end, ...header } = frame;
  const body = bytes.subarray(bodyStart, end);
  return Buffer.concat([encodeHeader(header, [body]), body]);
}

function expectNothingInvented(bytes: Buffer): void {
  for (const frame of scanFrames(bytes).frames) {
    const isThere = encoded(bytes, frame).equals(bytes.subarray(frame.start, frame.end));
    if (!isThere) expect.fail(`invented ${JSON.stringify(frame)}`);
  }
}

describe('scanFrames', () => {
  it('finds every frame at its place', () => {
    const { frames, end } = scanFrames(three);
    expect(frames.map(({ seq, n, gap }) => [seq, n, gap?.entries])).toEqual([
      [1, 2, undefined],
      [3, 1, 5],
      [4, 1, undefined],
    ]);
    expect(end).toEqual({ kind: 'complete', at: three.length });
    const first = frames[0]!;
    expect(three.subarray(first.bodyStart, first.end).toString()).toBe('one\ntwo\n');
    expect(frames.map(({ start }) => start)).toEqual([0, first.end, frames[1]!.end]);
  });

  it('finds nothing in an empty file, and nothing wrong with it', () => {
    expect(scanFrames(Buffer.alloc(0))).toEqual({ frames: [], end: { kind: 'complete', at: 0 } });
  });

  it('starts where it is told', () => {
    const second = scanFrames(three).frames[1]!;
    expect(scanFrames(three, second.start).frames.map(({ seq }) => seq)).toEqual([3, 4]);
  });

  it('reads back whatever was written', () => {
    fc.assert(
      fc.property(fc.array(bodies, { minLength: 1, maxLength: 8 }), (written) => {
        const bytes = framesOf(written);
        const { frames, end } = scanFrames(bytes);
        const read = frames.map((frame) => bytes.subarray(frame.bodyStart, frame.end));
        expect(read).toEqual(written);
        expect(end).toEqual({ kind: 'complete', at: bytes.length });
        expectNothingInvented(bytes);
      }),
    );
  });

  it('detects every single flipped bit, and keeps the frames before it', () => {
    const intact = scanFrames(three).frames;
    const undetected: number[] = [];
    for (let bit = 0; bit < three.length * 8; bit += 1) {
      const damaged = Buffer.from(three);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      const { frames, end } = scanFrames(damaged);
      const hit = intact.findIndex((frame) => frame.end > bit >> 3);
      const isDetected = end.kind !== 'complete' && end.at === intact[hit]!.start;
      if (!isDetected || frames.length !== hit) undetected.push(bit);
    }
    expect(undetected).toEqual([]);
  });

  it('takes a cut at any byte for a torn frame', () => {
    const intact = scanFrames(three).frames;
    const ends = [0, ...intact.map(({ end }) => end)];
    for (let length = 0; length < three.length; length += 1) {
      const { frames, end } = scanFrames(three.subarray(0, length));
      expect(frames).toEqual(intact.filter((frame) => frame.end <= length));
      const lastEnd = ends.filter((at) => at <= length).at(-1);
      expect(end).toEqual({ kind: lastEnd === length ? 'complete' : 'torn', at: lastEnd });
    }
  });

  it.each([1, 20, 512, 4096])('takes %d zeros at the end for damage', (count) => {
    const { frames, end } = scanFrames(Buffer.concat([three, Buffer.alloc(count)]));
    expect(frames).toHaveLength(3);
    expect(end).toMatchObject({ kind: 'damaged', at: three.length });
  });

  it('takes a frame whose end was zeroed for damage', () => {
    const damaged = Buffer.from(three);
    damaged.fill(0, three.length - 2);
    expect(scanFrames(damaged).end).toMatchObject({ kind: 'damaged', reason: 'checksum mismatch' });
  });

  it('leaves a frame of a newer version alone, and what follows it', () => {
    const newer = Buffer.concat([three, Buffer.from('{"v":2,"seq":5}\n'), frameOf(6, 'x\n')]);
    const { frames, end } = scanFrames(newer);
    expect(frames).toHaveLength(3);
    expect(end).toMatchObject({ kind: 'newer', at: three.length });
  });

  it('looks for the end of a header only as far as headers go', () => {
    const endless = Buffer.alloc(MAX_HEADER_BYTES, '{');
    expect(frameAt(endless, 0)).toMatchObject({ kind: 'damaged', reason: 'no header line' });
    expect(frameAt(endless.subarray(1), 0)).toEqual({ kind: 'torn', at: 0 });
  });

  it('never throws and never invents a frame: random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expectNothingInvented(Buffer.from(bytes));
      }),
      { numRuns: 3000 },
    );
  });

  it('never throws and never invents a frame: mutated frames', () => {
    const mutation = fc.record({
      kind: fc.constantFrom('set', 'insert', 'delete', 'copy'),
      at: fc.nat(2000),
      length: fc.integer({ min: 1, max: 40 }),
      byte: fc.oneof(fc.constantFrom(0, 0x0a, 0x22, 0x30, 0x7b), fc.integer({ min: 0, max: 255 })),
    });
    const inputs = fc.tuple(
      fc.array(bodies, { minLength: 1, maxLength: 4 }),
      fc.array(mutation, { minLength: 1, maxLength: 3 }),
    );
    fc.assert(
      fc.property(inputs, ([written, mutations]) => {
        let bytes = framesOf(written);
        for (const { kind, at: anywhere, length, byte } of mutations) {
          const at = anywhere % (bytes.length + 1);
          const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
          const rest = kind === 'set' || kind === 'delete' ? after.subarray(length) : after;
          const added =
            kind === 'delete'
              ? Buffer.alloc(0)
              : kind === 'copy'
                ? bytes.subarray(0, length)
                : Buffer.alloc(length, byte);
          bytes = Buffer.concat([before, added, rest]);
        }
        expectNothingInvented(bytes);
      }),
      { numRuns: 7000 },
    );
  });
});

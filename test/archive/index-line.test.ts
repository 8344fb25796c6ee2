import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeIndexLine, parseIndexLine } from '../../src/archive/index-line.js';
import { scanFrames } from '../../src/frames/scan.js';
import { bodies, frameOf } from '../support/frames.js';

describe('an index line', () => {
  it("is the frame's header and where its body lies", () => {
    const bytes = frameOf(413, 'a\nb\n');
    const [frame] = scanFrames(bytes).frames;
    if (frame === undefined) throw new Error('no frame');
    const line = encodeIndexLine(bytes, frame, 884_213);
    const header = bytes.toString('latin1', 0, frame.bodyStart - 2);
    expect(line).toBe(`${header},"at":884213}\n`);
  });

  it('is read back as what it was made of', () => {
    fc.assert(
      fc.property(bodies, fc.nat(), (body, at) => {
        const bytes = frameOf(7, body);
        const [frame] = scanFrames(bytes).frames;
        if (frame === undefined) throw new Error('no frame');
        const entry = parseIndexLine(Buffer.from(encodeIndexLine(bytes, frame, at).trimEnd()));
        expect(entry).toMatchObject({ header: { seq: 7, n: frame.n, len: body.length }, at });
      }),
    );
  });

  it('is none when it is torn or something else, and reading it never throws', () => {
    const bytes = frameOf(1, 'a\n');
    const [frame] = scanFrames(bytes).frames;
    if (frame === undefined) throw new Error('no frame');
    const line = Buffer.from(encodeIndexLine(bytes, frame, 5).trimEnd());
    for (let cut = 0; cut < line.length; cut += 1) {
      expect(parseIndexLine(line.subarray(0, cut))).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        expect(parseIndexLine(Buffer.from(noise))).toBeUndefined();
      }),
    );
  });
});

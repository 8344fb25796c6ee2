import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeHeader,
  GAP_REASONS,
  lastSeqOf,
  MAX_BODY_BYTES,
  parseHeader,
  type FrameHeader,
} from '../../src/frames/frame.js';

/** A header line with a right checksum, whatever its fields are; the body is empty. */
function lineOf(fields: string): Buffer {
  const crc = crc32(fields).toString(16).padStart(8, '0');
  return Buffer.from(`${fields},"crc":"${crc}"}`);
}

const counts = fc.oneof(
  fc.integer({ min: 1, max: 1000 }),
  fc.integer({ min: 1, max: 2 ** 52 - 1 }),
);
const times = fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }).map(String);

const entries: fc.Arbitrary<FrameHeader> = fc
  .record({
    seq: counts,
    n: fc.integer({ min: 1, max: 100 }),
    t: times,
    o: fc.nat(),
    extra: fc.integer({ min: 0, max: MAX_BODY_BYTES - 100 }),
  })
  .map(({ extra, ...header }) => ({ ...header, len: header.n + extra }));

const gaps: fc.Arbitrary<FrameHeader> = fc.record({
  seq: counts,
  n: fc.constant(1),
  t: times,
  o: fc.nat(),
  len: fc.constant(0),
  gap: fc.record({ entries: counts, bytes: fc.nat(), why: fc.constantFrom(...GAP_REASONS) }),
});

describe('encodeHeader', () => {
  it('writes the worked example of the format', () => {
    const body = Buffer.from('first line\nsecond line, longer\nthird line\n');
    const header = { seq: 413, n: 3, t: '1764500000123456789', o: 77, len: 42 };
    expect(encodeHeader(header, [body]).toString()).toBe(
      '{"v":1,"seq":413,"n":3,"t":"1764500000123456789","o":77,"len":42,"crc":"05f55430"}\n',
    );
  });

  it('writes a gap entry, which has no body', () => {
    const gap = { entries: 12, bytes: 3456, why: 'disk-full' } as const;
    const header = { seq: 416, n: 1, t: '1764500000123456790', o: 78, len: 0, gap };
    expect(encodeHeader(header, []).toString()).toBe(
      '{"v":1,"seq":416,"n":1,"t":"1764500000123456790","o":78,"len":0,' +
        '"gap":{"entries":12,"bytes":3456,"why":"disk-full"},"crc":"6f47ddb2"}\n',
    );
  });

  it('covers a body in parts as it covers the whole', () => {
    const header = { seq: 1, n: 1, t: '1', o: 0, len: 6 };
    const whole = encodeHeader(header, [Buffer.from('abcde\n')]);
    expect(encodeHeader(header, [Buffer.from('ab'), Buffer.from('cde\n')])).toEqual(whole);
  });

  it('refuses a body that no reader would take', () => {
    const header = { seq: 1, n: 1, t: '1', o: 0, len: MAX_BODY_BYTES + 1 };
    expect(() => encodeHeader(header, [])).toThrow('broken invariant');
  });
});

describe('parseHeader', () => {
  it('reads back every header that is written, and the checksum of its body', () => {
    fc.assert(
      fc.property(fc.oneof(entries, gaps), fc.uint8Array({ maxLength: 50 }), (header, body) => {
        const line = encodeHeader(header, [body]);
        const parsed = parseHeader(line.subarray(0, -1));
        if ('fault' in parsed) throw new Error(parsed.reason);
        expect(parsed.header).toEqual(header);
        expect(crc32(body, parsed.crcSoFar)).toBe(parsed.crc);
      }),
    );
  });

  it('ignores fields that it does not know', () => {
    const parsed = parseHeader(lineOf('{"v":1,"seq":1,"n":1,"t":"1","o":0,"len":2,"zip":true'));
    expect(parsed).toMatchObject({ header: { seq: 1, n: 1, t: '1', o: 0, len: 2 } });
    expect('header' in parsed && 'zip' in parsed.header).toBe(false);
  });

  it.each([
    ['{"v":1,"n":1,"t":"1","o":0,"len":1', 'no sequence'],
    ['{"v":1,"seq":0,"n":1,"t":"1","o":0,"len":1', 'sequence 0'],
    ['{"v":1,"seq":1.5,"n":1,"t":"1","o":0,"len":1', 'half a sequence'],
    ['{"v":1,"seq":"1","n":1,"t":"1","o":0,"len":1', 'a sequence as text'],
    ['{"v":1,"seq":9007199254740991,"n":1,"t":"1","o":0,"len":1', 'a last sequence not exact'],
    ['{"v":1,"seq":1e300,"n":1,"t":"1","o":0,"len":1', 'a huge sequence'],
    ['{"v":1,"seq":1,"n":0,"t":"1","o":0,"len":1', 'no entries'],
    ['{"v":1,"seq":1,"n":-1,"t":"1","o":0,"len":1', 'a negative number of entries'],
    ['{"v":1,"seq":1,"n":3,"t":"1","o":0,"len":2', 'more entries than bytes'],
    ['{"v":1,"seq":1,"n":1,"t":1,"o":0,"len":1', 'a time as number'],
    ['{"v":1,"seq":1,"n":1,"t":"1764500000.1","o":0,"len":1', 'a time with a fraction'],
    ['{"v":1,"seq":1,"n":1,"t":"123456789012345678901","o":0,"len":1', 'a time too long'],
    ['{"v":1,"seq":1,"n":1,"t":"1","o":-1,"len":1', 'a negative order'],
    [`{"v":1,"seq":1,"n":1,"t":"1","o":0,"len":${String(MAX_BODY_BYTES + 1)}`, 'a body too long'],
    ['{"v":1,"seq":1,"n":1,"t":"1","o":0,"len":0', 'an entry without bytes'],
    ['{"v":1,"seq":1,"n":1,"t":"1","o":0,"len":0,"gap":null', 'a gap that is nothing'],
    ['{"v":1,"seq":1,"n":1,"t":"1","o":0,"len":0,"gap":{}', 'a gap without counts'],
    [
      '{"v":1,"seq":1,"n":1,"t":"1","o":0,"len":0,"gap":{"entries":1,"bytes":1,"why":"bored"}',
      'a gap for no known reason',
    ],
    [
      '{"v":1,"seq":1,"n":2,"t":"1","o":0,"len":0,"gap":{"entries":2,"bytes":1,"why":"crash"}',
      'a gap of two entries',
    ],
    [
      '{"v":1,"seq":1,"n":1,"t":"1","o":0,"len":1,"gap":{"entries":2,"bytes":1,"why":"crash"}',
      'a gap with a body',
    ],
  ])('refuses %s: %s', (fields) => {
    expect(parseHeader(lineOf(fields))).toMatchObject({ fault: 'malformed' });
  });

  it.each(['', '{', '[]', 'null', '7', '"v"', '{"seq":1}', '{"v":0}', '{"v":"1"}', '{"v":1}'])(
    'refuses %j',
    (line) => {
      expect(parseHeader(Buffer.from(line))).toMatchObject({ fault: 'malformed' });
    },
  );

  it('refuses a checksum that is not the last field', () => {
    const line = '{"v":1,"seq":1,"n":1,"t":"1","crc":"00000000","o":0,"len":1}';
    expect(parseHeader(Buffer.from(line))).toMatchObject({ fault: 'malformed' });
  });

  it('tells a newer format from garbage', () => {
    expect(parseHeader(Buffer.from('{"v":2,"everything":"else"}'))).toEqual({
      fault: 'version',
      reason: 'format version 2 is newer than this reader',
    });
  });

  it('never throws, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(parseHeader(Buffer.from(bytes))).toMatchObject({ fault: 'malformed' });
      }),
    );
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseHeader(Buffer.from(text))).toHaveProperty('fault');
      }),
    );
  });
});

describe('lastSeqOf', () => {
  it('is the sequence of the last entry', () => {
    expect(lastSeqOf({ seq: 7, n: 1, t: '1', o: 0, len: 1 })).toBe(7);
    expect(lastSeqOf({ seq: 7, n: 3, t: '1', o: 0, len: 3 })).toBe(9);
  });
});

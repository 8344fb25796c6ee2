import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STREAMS } from '../../src/core/stream.js';
import {
  openSegmentName,
  parseSegmentName,
  sealedSegmentName,
} from '../../src/spool/segment-name.js';

const streams = fc.constantFrom(...STREAMS);
const sequences = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

describe('a segment name', () => {
  it('looks as the format says', () => {
    expect(openSegmentName('stdout', 413)).toBe('stdout-000000000413.open');
    expect(sealedSegmentName('stderr', 1, 412)).toBe('stderr-000000000001-000000000412.seg');
  });

  it('says what was put into it, up to the largest sequence', () => {
    fc.assert(
      fc.property(streams, sequences, sequences, (stream, one, other) => {
        const [first, last] = [Math.min(one, other), Math.max(one, other)];
        expect(parseSegmentName(openSegmentName(stream, first))).toEqual({
          state: 'open',
          stream,
          first,
        });
        expect(parseSegmentName(sealedSegmentName(stream, first, last))).toEqual({
          state: 'sealed',
          stream,
          first,
          last,
        });
      }),
    );
  });

  it('sorts by sequence', () => {
    const sequencesToSort = [9, 10, 99, 100, 123_456_789_012];
    const names = sequencesToSort.map((first) => openSegmentName('stdout', first));
    expect([...names].sort()).toEqual(names);
  });
});

describe('a foreign name', () => {
  it.each([
    '',
    'stdout',
    'stdout-000000000001',
    'stdout-1.open',
    'stdout-1-2.seg',
    'stdout-000000000000.open',
    'stdout-000000000000-000000000001.seg',
    'stdout-000000000002-000000000001.seg',
    'stdout-000000000001-000000000002.open',
    'stdout-000000000001.seg',
    'stdout-000000000001.open~',
    'stdout-000000000001.open.tmp',
    '.stdout-000000000001.open',
    'stdin-000000000001.open',
    'STDOUT-000000000001.open',
    'constructor-000000000001.open',
    'stdout--00000000001.open',
    'stdout-0000000000x1.open',
    'stdout-9007199254740992.open',
    'stdout-000000000001-9007199254740992.seg',
    'stdout-00000000000000001.open',
    'stdout-000000000001.open\n',
    'stdout-0000000000001.open',
  ])('is no segment: %j', (name) => {
    expect(parseSegmentName(name)).toBeUndefined();
  });

  it('is never taken for a segment that would have another name', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^(stdout|stderr)-\d{11,17}(-\d{11,17}\.seg|\.open)$/),
        (name) => {
          const parsed = parseSegmentName(name);
          if (parsed === undefined) return;
          const { stream, first } = parsed;
          const expected =
            parsed.state === 'open'
              ? openSegmentName(stream, first)
              : sealedSegmentName(stream, first, parsed.last);
          expect(name).toBe(expected);
        },
      ),
    );
  });
});

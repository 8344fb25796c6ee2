import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatDuration,
  formatSize,
  humanAge,
  humanBytes,
  parseDurationMs,
  parseSizeBytes,
} from '../../src/core/units.js';

describe('parseDurationMs', () => {
  it.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
  ])('reads %s', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', '10', 's', '-1s', '1 s', '1e3s', '10S', '10s5', '1m30s', '.5s', '99999999999d'])(
    'refuses %j',
    (text) => {
      expect(parseDurationMs(text)).toBeUndefined();
    },
  );

  it('reads back every duration that is written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (ms) => {
        expect(parseDurationMs(formatDuration(ms))).toBe(ms);
      }),
    );
  });

  it('makes a safe number of any text, or nothing', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const ms = parseDurationMs(text);
        expect(ms === undefined || Number.isSafeInteger(ms)).toBe(true);
      }),
    );
  });
});

describe('parseSizeBytes', () => {
  it.each([
    ['512B', 512],
    ['64KiB', 65_536],
    ['4GiB', 4_294_967_296],
    ['30MB', 30_000_000],
    ['1.5kB', 1500],
  ])('reads %s', (text, bytes) => {
    expect(parseSizeBytes(text)).toBe(bytes);
  });

  it.each(['', '64', '64k', '64kib', '-1B', '1 MiB', '9999999TiB', '1constructor'])(
    'refuses %j',
    (text) => {
      expect(parseSizeBytes(text)).toBeUndefined();
    },
  );

  it('reads back every size that is written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (bytes) => {
        expect(parseSizeBytes(formatSize(bytes))).toBe(bytes);
      }),
    );
  });
});

describe('formatDuration', () => {
  it('takes the shortest exact form', () => {
    expect([0, 250, 90_000, 120_000, 86_400_000].map(formatDuration)).toEqual([
      '0ms',
      '250ms',
      '90s',
      '2m',
      '1d',
    ]);
  });
});

describe('formatSize', () => {
  it('takes the shortest exact form', () => {
    expect([0, 1000, 65_536, 8_388_608].map(formatSize)).toEqual(['0B', '1000B', '64KiB', '8MiB']);
  });
});

describe('humanBytes', () => {
  it('rounds for reading', () => {
    expect([0, 1023, 1536, 12_897_485].map(humanBytes)).toEqual([
      '0 B',
      '1023 B',
      '1.5 KiB',
      '12.3 MiB',
    ]);
    expect(humanBytes(5 * 1024 ** 5)).toBe('5120.0 TiB');
  });
});

describe('humanAge', () => {
  it('rounds for reading', () => {
    expect([12_000, 180_000, 18_000_000, 172_800_000].map(humanAge)).toEqual([
      '12 s',
      '3 min',
      '5 h',
      '2 d',
    ]);
  });

  it('never shows a negative age', () => {
    expect(humanAge(-5000)).toBe('0 s');
  });
});

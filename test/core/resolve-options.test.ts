import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ShipperError } from '../../src/core/errors.js';
import { DEFAULTS, type CommandName } from '../../src/core/options.js';
import { resolveOptions, type RawFlags } from '../../src/core/resolve-options.js';

function failureOf(command: CommandName, flags: RawFlags, environment = {}): ShipperError {
  try {
    resolveOptions(command, flags, environment);
  } catch (error) {
    if (error instanceof ShipperError) return error;
    throw error;
  }
  throw new Error('was taken');
}

describe('resolveOptions', () => {
  it('gives the defaults where nothing is set', () => {
    expect(resolveOptions('run', {}, {})).toEqual(DEFAULTS);
  });

  it('takes flags over variables over defaults', () => {
    const environment = { SHIPPER_DRAIN_TIMEOUT: '20s', SHIPPER_FLUSH_INTERVAL: '1s' };
    const options = resolveOptions('run', { drainTimeout: '5s' }, environment);
    expect(options.drainTimeout).toBe(5000);
    expect(options.flushInterval).toBe(1000);
    expect(options.cycleDeadline).toBe(DEFAULTS.cycleDeadline);
  });

  it('parses every kind of value', () => {
    const flags: RawFlags = {
      noPassthrough: true,
      to: ['dir:/a', 'dir:/b'],
      segmentMaxBytes: '64KiB',
      segmentMaxEntries: '7',
      fsync: 'never',
      name: 'x',
    };
    expect(resolveOptions('run', flags, {})).toMatchObject({
      noPassthrough: true,
      to: ['dir:/a', 'dir:/b'],
      segmentMaxBytes: 65_536,
      segmentMaxEntries: 7,
      fsync: 'never',
      name: 'x',
    });
  });

  it('splits the variable of an option that repeats into words', () => {
    const options = resolveOptions('run', {}, { SHIPPER_TO: ' dir:/a  dir:/b ' });
    expect(options.to).toEqual(['dir:/a', 'dir:/b']);
  });

  it.each([
    ['1', true],
    ['TRUE', true],
    ['on', true],
    ['0', false],
    ['no', false],
  ])('reads the variable of a switch: %s', (text, value) => {
    expect(resolveOptions('drain', {}, { SHIPPER_JSON: text }).json).toBe(value);
  });

  it('ignores an empty variable', () => {
    expect(resolveOptions('run', {}, { SHIPPER_FSYNC: '' }).fsync).toBe('segment');
  });

  it('ignores variables of other commands, also broken ones', () => {
    expect(resolveOptions('status', {}, { SHIPPER_DRAIN_TIMEOUT: 'soon' })).toEqual(DEFAULTS);
  });

  it.each<[CommandName, RawFlags, string]>([
    ['run', { drainTimeout: '10' }, 'option --drain-timeout: "10" is not a duration'],
    ['run', { segmentMaxBytes: '1KiB' }, '"1KiB" is not a size from 4KiB to 1GiB'],
    ['run', { segmentMaxEntries: '1.5' }, '"1.5" is not a whole number from 1'],
    ['drain', { maxInFlight: '65' }, 'option --max-in-flight: "65"'],
    ['run', { fsync: 'always!' }, '"always!" is not one of always, segment, never'],
    ['receive', { listen: '' }, 'option --listen: "" is not a text'],
  ])('refuses a flag of %s with option, value and example', (command, flags, message) => {
    const error = failureOf(command, flags);
    expect(error.code).toBe('usage');
    expect(error.message).toContain(message);
    expect(error.hint).toMatch(/^for example --[a-z-]+ \S+/);
  });

  it('refuses a variable by its name, as configuration', () => {
    const error = failureOf('drain', {}, { SHIPPER_JSON: 'maybe' });
    expect(error.code).toBe('config');
    expect(error.message).toBe('SHIPPER_JSON: "maybe" is not true or false');
  });

  it.each<[CommandName, RawFlags]>([
    ['run', { drainTimeout: '?' }],
    ['run', { segmentMaxBytes: '?' }],
    ['run', { segmentMaxEntries: '?' }],
    ['run', { fsync: '?' }],
    ['receive', { dir: '' }],
  ])('gives an example that it takes itself: %s %j', (command, flags) => {
    const [key] = Object.keys(flags) as (keyof RawFlags)[];
    const example = failureOf(command, flags).hint?.split(' ').at(-1);
    expect(() => resolveOptions(command, { [key!]: example }, {})).not.toThrow();
  });

  it('never lets a caller change what was resolved', () => {
    expect(Object.isFrozen(resolveOptions('run', {}, {}))).toBe(true);
  });

  it('takes any text or refuses it as a usage error, and nothing else', () => {
    const flags = fc.record(
      {
        drainTimeout: fc.string(),
        segmentMaxBytes: fc.string(),
        segmentMaxEntries: fc.string(),
        fsync: fc.string(),
        name: fc.string(),
        to: fc.array(fc.string()),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(flags, (raw) => {
        try {
          const options = resolveOptions('run', raw, {});
          expect(options.drainTimeout).toBeGreaterThanOrEqual(0);
          expect(['always', 'segment', 'never']).toContain(options.fsync);
        } catch (error) {
          expect(error).toBeInstanceOf(ShipperError);
        }
      }),
    );
  });
});

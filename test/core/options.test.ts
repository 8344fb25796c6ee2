import { describe, expect, it } from 'vitest';
import {
  DEFAULTS,
  OPTION_KEYS,
  OPTION_TABLE,
  environmentName,
  optionKeysOf,
} from '../../src/core/options.js';

describe('OPTION_TABLE', () => {
  it('has a row for every default and the other way round', () => {
    expect([...OPTION_KEYS].sort()).toEqual(Object.keys(DEFAULTS).sort());
  });

  it('names each option as its key, in the manner of a command line', () => {
    for (const key of OPTION_KEYS) {
      const kebab = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      expect(OPTION_TABLE[key].name).toBe(kebab);
    }
  });

  it('has a placeholder for every option that takes a value, and for no switch', () => {
    for (const { kind, value } of Object.values(OPTION_TABLE)) {
      expect(value === undefined).toBe(kind.type === 'switch');
    }
  });

  it('has defaults within the bounds that users are held to', () => {
    for (const key of OPTION_KEYS) {
      const { kind } = OPTION_TABLE[key];
      const value = DEFAULTS[key];
      if (value === undefined) continue;
      if (kind.type === 'duration') expect(value).toBeGreaterThanOrEqual(kind.minMs);
      if (kind.type === 'duration') expect(value).toBeLessThanOrEqual(kind.maxMs);
      if (kind.type === 'size') expect(value).toBeGreaterThanOrEqual(kind.minBytes);
      if (kind.type === 'size') expect(value).toBeLessThanOrEqual(kind.maxBytes);
      if (kind.type === 'count') expect(value).toBeGreaterThanOrEqual(kind.min);
      if (kind.type === 'count') expect(value).toBeLessThanOrEqual(kind.max);
      if (kind.type === 'choice') expect(kind.choices).toContain(value);
    }
  });

  it('describes the default in words where there is no value to show', () => {
    for (const key of OPTION_KEYS) {
      const value = DEFAULTS[key];
      const isShown = value !== undefined && !(Array.isArray(value) && value.length === 0);
      expect(OPTION_TABLE[key].defaultText === undefined, key).toBe(isShown);
    }
  });
});

describe('environmentName', () => {
  it('turns a flag into a variable', () => {
    expect(environmentName(OPTION_TABLE.segmentMaxBytes)).toBe('SHIPPER_SEGMENT_MAX_BYTES');
  });
});

describe('optionKeysOf', () => {
  it('gives each command its own options', () => {
    expect(optionKeysOf('receive')).toContain('listen');
    expect(optionKeysOf('run')).not.toContain('listen');
  });
});

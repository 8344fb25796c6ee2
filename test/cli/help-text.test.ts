import { describe, expect, it } from 'vitest';
import { OPTION_KEYS, OPTION_TABLE } from '../../src/core/options.js';
import { resolveOptions } from '../../src/core/resolve-options.js';
import {
  COMMAND_TEXTS,
  defaultText,
  descriptionText,
  flagText,
  meaningText,
} from '../../src/cli/help-text.js';
import { parseCommandLine } from '../../src/cli/program.js';

describe('defaultText', () => {
  it('writes a default as a user would', () => {
    const texts = (
      ['drainTimeout', 'segmentMaxBytes', 'maxInFlight', 'fsync', 'json'] as const
    ).map(defaultText);
    expect(texts).toEqual(['10s', '8MiB', '4', 'segment', 'off']);
  });

  it('describes a default that is no fixed value', () => {
    expect(defaultText('spool')).toBe('$XDG_STATE_HOME/shipper/spool');
    expect(defaultText('listen')).toBe('127.0.0.1:7790');
  });

  it('has something to show for every option', () => {
    for (const key of OPTION_KEYS) expect(defaultText(key)).not.toMatch(/^$|undefined/);
  });
});

describe('descriptionText', () => {
  it('shows meaning, default and variable', () => {
    expect(descriptionText('drainTimeout')).toMatch(
      / \(default: 10s, env: SHIPPER_DRAIN_TIMEOUT\)$/,
    );
  });
});

describe('meaningText', () => {
  it('names the choices', () => {
    expect(meaningText(OPTION_TABLE.fsync)).toMatch(/: always, segment, never$/);
  });
});

describe('flagText', () => {
  it('shows the placeholder of a value, and none for a switch', () => {
    expect(flagText(OPTION_TABLE.spool)).toBe('--spool <dir>');
    expect(flagText(OPTION_TABLE.json)).toBe('--json');
  });
});

describe('COMMAND_TEXTS', () => {
  it.each(COMMAND_TEXTS.flatMap(({ examples }) => examples))(
    'has an example that parses: %s',
    (line) => {
      const commandLine = parseCommandLine(line.split(' ').slice(1));
      if (commandLine.kind !== 'invoke') throw new Error(`printed: ${commandLine.text}`);
      expect(() => resolveOptions(commandLine.name, commandLine.flags, {})).not.toThrow();
    },
  );
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as help from '../../src/cli/help-text.js';
import * as exitCodes from '../../src/core/exit-codes.js';
import * as options from '../../src/core/options.js';
import { withGeneratedParts } from '../tools/readme-parts.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

describe('README.md', () => {
  it('has current generated parts (npm run docs makes them anew)', () => {
    expect(withGeneratedParts(readme, { help, options, exitCodes })).toBe(readme);
  });

  it('documents every option with its default and its variable', () => {
    for (const key of options.OPTION_KEYS) {
      const spec = options.OPTION_TABLE[key];
      const row = readme
        .split('\n')
        .find((line) => line.startsWith(`| \`${help.flagText(spec)}\` `));
      expect(row, spec.name).toContain(` ${help.defaultText(key)} `);
      expect(row, spec.name).toContain(`\`${options.environmentName(spec)}\``);
    }
  });

  it('documents every exit code of our own', () => {
    for (const code of Object.values(exitCodes.EXIT)) expect(readme).toContain(`\n| ${code} | `);
  });

  it('names no option that does not exist', () => {
    const known = new Set(Object.values(options.OPTION_TABLE).map(({ name }) => name));
    const named = [...readme.matchAll(/(?<=[\s`(])--([a-z][a-z-]+)/g)].map(([, name]) => name!);
    const ours = named.filter((name) => !FOREIGN.has(name));
    expect(ours.filter((name) => !known.has(name))).toEqual([]);
  });
});

/** Options that are not in the table, or of other programs in examples. */
const FOREIGN = new Set(['help', 'version', 'global']);

describe('withGeneratedParts', () => {
  it('refuses a text without the place for a part', () => {
    expect(() => withGeneratedParts('# shipper', { help, options, exitCodes })).toThrow(
      "README.md has no part 'commands'",
    );
  });
});

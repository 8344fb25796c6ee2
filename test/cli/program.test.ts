import { describe, expect, it } from 'vitest';
import { ShipperError } from '../../src/core/errors.js';
import { OPTION_TABLE, environmentName, optionKeysOf } from '../../src/core/options.js';
import { COMMAND_TEXTS } from '../../src/cli/help-text.js';
import { parseCommandLine, type CommandLine } from '../../src/cli/program.js';

function invoked(...words: string[]): Extract<CommandLine, { kind: 'invoke' }> {
  const commandLine = parseCommandLine(words);
  if (commandLine.kind === 'invoke') return commandLine;
  throw new Error(`printed: ${commandLine.text}`);
}

function printed(...words: string[]): string {
  const commandLine = parseCommandLine(words);
  if (commandLine.kind === 'print') return commandLine.text;
  throw new Error(`invoked: ${commandLine.name}`);
}

function refusal(...words: string[]): string {
  try {
    parseCommandLine(words);
  } catch (error) {
    if (error instanceof ShipperError && error.code === 'usage') {
      return `${error.message}; ${error.hint ?? ''}`;
    }
    throw error;
  }
  throw new Error('was taken');
}

describe('parseCommandLine', () => {
  it.each([
    [
      ['run', 'ls', '-l'],
      ['ls', '-l'],
    ],
    [
      ['run', '--', 'ls', '-l'],
      ['ls', '-l'],
    ],
    [
      ['run', 'node', '--version', '--help'],
      ['node', '--version', '--help'],
    ],
    [
      ['run', 'sh', '--spool', 'x'],
      ['sh', '--spool', 'x'],
    ],
    [
      ['run', 'env', '--', 'ls'],
      ['env', '--', 'ls'],
    ],
    [
      ['run', '--', '--', 'x'],
      ['--', 'x'],
    ],
    [['run', '--', '--odd-name'], ['--odd-name']],
    [
      ['run', 'run', 'help'],
      ['run', 'help'],
    ],
    [
      ['run', 'x', ''],
      ['x', ''],
    ],
  ])('leaves to the command what is its own: %j', (words, command) => {
    expect(invoked(...words)).toEqual({ kind: 'invoke', name: 'run', flags: {}, words: command });
  });

  it('takes options up to the command, and none of the command’s', () => {
    const { flags, words } = invoked('run', '--name', 'x', '--fsync=never', 'ls', '--name', 'y');
    expect(flags).toEqual({ name: 'x', fsync: 'never' });
    expect(words).toEqual(['ls', '--name', 'y']);
  });

  it('hands values over as they were written', () => {
    const { flags } = invoked('drain', '--timeout', 'soon', '--max-in-flight', '-5', '--json');
    expect(flags).toEqual({ timeout: 'soon', maxInFlight: '-5', json: true });
  });

  it('collects an option that repeats, and takes the last of one that does not', () => {
    const { flags } = invoked('drain', '--to', 'a', '--to', 'b', '--spool', 'x', '--spool', 'y');
    expect(flags).toEqual({ to: ['a', 'b'], spool: 'y' });
  });

  it('reads a switch that begins with no as itself', () => {
    expect(invoked('run', '--no-passthrough', 'ls').flags).toEqual({ noPassthrough: true });
    expect(invoked('run', 'ls').flags).toEqual({});
  });

  it.each([
    [['rnu', '--', 'ls'], "unknown command 'rnu'; did you mean run? (see shipper --help)"],
    [['deliver'], "unknown command 'deliver'; see shipper --help"],
    [['help', 'me'], "there is no command 'me'; see shipper --help"],
    [[], 'no command given; see shipper --help'],
    [
      ['drain', '--spol', 'x'],
      "drain: unknown option '--spol'; did you mean --spool? (see shipper drain --help)",
    ],
    [['drain', 'x'], 'drain takes options alone; see shipper drain --help'],
    [
      ['status', '--spool'],
      "status: option '--spool <dir>' argument missing; see shipper status --help",
    ],
    [['receive', '--to', 'x'], "receive: unknown option '--to'; see shipper receive --help"],
    [['run'], 'run: there is no command to wrap; say shipper run [options] -- command [args…]'],
    [['run', '--'], 'run: there is no command to wrap'],
    [['run', '--name', 'x'], 'run: there is no command to wrap'],
  ])('refuses %j in one line with what to try', (words, line) => {
    expect(refusal(...words)).toContain(line);
  });

  it('refuses an unknown option although the command behind it has --help', () => {
    expect(refusal('run', '--bogus', 'ls', '--help')).toContain("unknown option '--bogus'");
  });
});

describe('the help', () => {
  it('names each command with a line that begins with a verb', () => {
    const help = printed('--help');
    for (const { name } of COMMAND_TEXTS) expect(help).toContain(`${name} `);
    for (const { summary } of COMMAND_TEXTS) expect(summary).toMatch(/^[A-Z][a-z]+ /);
  });

  describe.each(COMMAND_TEXTS.map((text) => [text.name, text] as const))('of %s', (name, text) => {
    const help = printed(name, '--help');

    it('is the same however it is asked for', () => {
      expect(printed('help', name)).toBe(help);
      expect(printed(name, '-h')).toBe(help);
    });

    it('begins with what the command does and how it is used', () => {
      expect(help.split('\n').slice(0, 3)).toEqual([
        text.summary,
        '',
        `Usage: shipper ${name} ${text.usage}`,
      ]);
    });

    it('shows every option with placeholder and variable', () => {
      const words = help.replaceAll(/\s+/g, ' ');
      for (const key of optionKeysOf(name)) {
        const spec = OPTION_TABLE[key];
        expect(words).toContain(`--${spec.name} ${spec.value ?? ''}`.trimEnd());
        expect(words).toContain(`env: ${environmentName(spec)})`);
      }
    });

    it('ends with two examples', () => {
      expect(help.trimEnd().split('\n').slice(-3)).toEqual([
        'Examples:',
        `  ${text.examples[0]}`,
        `  ${text.examples[1]}`,
      ]);
    });

    it('is 80 columns wide', () => {
      expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
    });
  });

  it('of run shows the usage with two dashes', () => {
    expect(printed('run', '--help')).toContain('shipper run [options] [--] command [args…]');
  });

  it('groups options by what they are about', () => {
    const groups = printed('run', '--help').match(/^[A-Z][a-z]+:$/gm);
    expect(groups).toEqual(['Capture:', 'Spool:', 'Delivery:', 'Output:', 'Examples:']);
  });
});

describe('--version', () => {
  it('prints name and version', () => {
    expect(printed('--version')).toMatch(/^shipper \d+\.\d+\.\d+\n$/);
  });
});

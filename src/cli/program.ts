import { Command, CommanderError, Option } from 'commander';
import { ShipperError } from '../core/errors.js';
import {
  OPTION_TABLE,
  optionKeysOf,
  type CommandName,
  type OptionGroup,
  type OptionKey,
} from '../core/options.js';
import type { RawFlags } from '../core/resolve-options.js';
import {
  COMMAND_TEXTS,
  UNITS_TEXT,
  descriptionText,
  flagText,
  type CommandText,
} from './help-text.js';
import { shipperVersion } from './version.js';

/** What the words of a command line ask for. */
export type CommandLine =
  | {
      readonly kind: 'invoke';
      readonly name: CommandName;
      /** Unparsed: `resolveOptions` does that. */
      readonly flags: RawFlags;
      /** For `run`, the command and its arguments. */
      readonly words: readonly string[];
    }
  /** `--help`, `help` and `--version`. */
  | { readonly kind: 'print'; readonly text: string };

const HELP_WIDTH = 80;

const GROUP_ORDER: readonly OptionGroup[] = ['Capture', 'Spool', 'Delivery', 'Receiver', 'Output'];

/**
 * Sorts the words of a command line. Nothing is started and no value is parsed: the library behind
 * it only tells options from operands and lays out the help.
 *
 * @param words after the program's name
 * @throws ShipperError `usage`
 */
export function parseCommandLine(words: readonly string[]): CommandLine {
  const session = new ParseSession();
  try {
    session.program.parse(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usageError(error, words);
  }
  const invoked = session.invoked;
  if (invoked === undefined) return { kind: 'print', text: session.printed };
  if (invoked.name === 'run' && invoked.words.length === 0) {
    throw new ShipperError('usage', 'run: there is no command to wrap', {
      hint: 'say shipper run [options] -- command [args…]',
    });
  }
  return invoked;
}

type Invoked = Extract<CommandLine, { kind: 'invoke' }>;

/** One parse: the commands, and what they were asked to do or to print. */
class ParseSession {
  readonly program: Command;
  printed = '';
  invoked: Invoked | undefined;

  constructor() {
    this.program = new Command('shipper')
      .exitOverride()
      // With this, everything after the name of a wrapped command is that command's.
      .enablePositionalOptions()
      .configureOutput({
        writeOut: (text) => {
          this.printed += text;
        },
        writeErr: () => undefined,
        getOutHelpWidth: () => HELP_WIDTH,
        getOutHasColors: () => false,
      })
      .configureHelp({ subcommandTerm: (command) => command.name() })
      .usage('<command> [options]')
      .version(`shipper ${shipperVersion()}`)
      .addHelpText('before', 'Keep every line that a command prints, and deliver it\n')
      .addHelpText('after', ROOT_EPILOGUE);
    for (const text of COMMAND_TEXTS) this.#add(text);
  }

  #add(text: CommandText): void {
    const command = this.program
      .command(text.name)
      .summary(text.summary)
      .usage(text.usage)
      // Its own help option would win over an unknown one before it, and `run` would not run.
      .helpOption(false)
      .addHelpText('before', `${text.summary}\n`)
      .addHelpText('after', epilogue(text));
    if (text.name === 'run') command.argument('[command...]').passThroughOptions();
    const options = new Map(sortedKeys(text.name).map((key) => [key, createOption(key)]));
    for (const option of options.values()) command.addOption(option);
    command.addOption(new Option('-h, --help', 'show this help').helpGroup('Output:'));
    command.action(() => {
      if (command.getOptionValue('help') === true) command.outputHelp();
      else this.invoked = invocationOf(text.name, command, options);
    });
  }
}

function sortedKeys(name: CommandName): OptionKey[] {
  const rank = (key: OptionKey): number => GROUP_ORDER.indexOf(OPTION_TABLE[key].group);
  return [...optionKeysOf(name)].sort((a, b) => rank(a) - rank(b));
}

function createOption(key: OptionKey): Option {
  const spec = OPTION_TABLE[key];
  const option = new Option(flagText(spec), descriptionText(key)).helpGroup(`${spec.group}:`);
  if (spec.kind.type !== 'texts') return option;
  return option.argParser((text, earlier?: readonly string[]) => [...(earlier ?? []), text]);
}

function invocationOf(
  name: CommandName,
  command: Command,
  options: ReadonlyMap<OptionKey, Option>,
): Invoked {
  const flags: Partial<Record<OptionKey, string | readonly string[] | true>> = {};
  for (const [key, option] of options) {
    const attribute = option.attributeName();
    // `--no-…` has a default of its own, true, which is not ours.
    if (command.getOptionValueSource(attribute) !== 'cli') continue;
    const value = command.getOptionValue(attribute) as string | readonly string[] | boolean;
    flags[key] = typeof value === 'boolean' ? true : value;
  }
  return { kind: 'invoke', name, flags, words: command.args };
}

const ROOT_EPILOGUE = `
shipper <command> --help shows the options of a command.

Examples:
  shipper run -- make -j4
  shipper status`;

function epilogue(text: CommandText): string {
  return `\n${UNITS_TEXT}\n\nExamples:\n  ${text.examples.join('\n  ')}`;
}

/**
 * The library's message without its prefix; its suggestion, on the second line, becomes the hint.
 */
function usageError(error: CommanderError, words: readonly string[]): ShipperError {
  const name = COMMAND_TEXTS.find((text) => text.name === words[0])?.name;
  const help = name === undefined ? 'see shipper --help' : `see shipper ${name} --help`;
  if (error.code === 'commander.help') {
    const named = words.at(-1);
    const what = named === undefined ? 'no command given' : `there is no command '${named}'`;
    return new ShipperError('usage', what, { hint: help });
  }
  if (error.code === 'commander.excessArguments') {
    return new ShipperError('usage', `${name ?? 'shipper'} takes options alone`, { hint: help });
  }
  const [what = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const prefix = name === undefined ? '' : `${name}: `;
  const hint = suggestion === undefined ? help : `${decapitalized(suggestion)} (${help})`;
  return new ShipperError('usage', `${prefix}${what}`, { hint });
}

/** `(Did you mean --spool?)` → `did you mean --spool?`. */
function decapitalized(suggestion: string): string {
  const text = suggestion.replace(/^\((.*)\)$/, '$1');
  return text.charAt(0).toLowerCase() + text.slice(1);
}

import { assertNever } from '../core/assert.js';
import type { CommandName } from '../core/options.js';
import { resolveOptions } from '../core/resolve-options.js';
import type { Invocation } from './invocation.js';
import { printNotice, printOut } from './output.js';
import { parseCommandLine, type CommandLine } from './program.js';
import { reportFailure } from './report-failure.js';

/**
 * The whole command: parses, runs, and says in one line what went wrong. Sets `process.exitCode`
 * and lets things end by themselves. Never rejects.
 *
 * What a command needs beyond the core is loaded by the command itself, so that `run` starts the
 * wrapped command before anything heavy is read from disk.
 *
 * @param argv as `process.argv`: interpreter, script, words
 */
export async function main(argv: readonly string[]): Promise<void> {
  const words = argv.slice(2);
  try {
    await perform(parseCommandLine(words));
  } catch (error) {
    const report = reportFailure(error, {
      wrapping: wrapsCommand(words),
      debug: wantsDebug(words),
    });
    for (const line of report.lines) printNotice(line);
    process.exitCode = report.exitCode;
  }
}

async function perform(commandLine: CommandLine): Promise<void> {
  if (commandLine.kind === 'print') {
    printOut(commandLine.text);
    return;
  }
  const { name, flags, words } = commandLine;
  const environment = process.env;
  const options = resolveOptions(name, flags, environment);
  const command = await loadCommand(name);
  await command({ options, command: words, environment });
}

type CommandFunction = (invocation: Invocation) => Promise<void>;

async function loadCommand(name: CommandName): Promise<CommandFunction> {
  switch (name) {
    case 'run':
      return (await import('./commands/run.js')).runCommand;
    case 'drain':
      return (await import('./commands/drain.js')).drainCommand;
    case 'status':
      return (await import('./commands/status.js')).statusCommand;
    case 'receive':
      return (await import('./commands/receive.js')).receiveCommand;
    default:
      return assertNever(name);
  }
}

/** Also of a command line that does not parse: its status must not look like the command's. */
function wrapsCommand(words: readonly string[]): boolean {
  return words.find((word) => !word.startsWith('-')) === 'run';
}

/** Looked up without parsing: the options may be what is wrong. */
function wantsDebug(words: readonly string[]): boolean {
  const flags = words.join(' ');
  return process.env['SHIPPER_LOG_LEVEL'] === 'debug' || /--log-level[ =]debug/.test(flags);
}

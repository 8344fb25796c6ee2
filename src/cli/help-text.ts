import {
  DEFAULTS,
  OPTION_TABLE,
  environmentName,
  type CommandName,
  type OptionKey,
  type OptionSpec,
} from '../core/options.js';
import { formatDuration, formatSize } from '../core/units.js';

/** What the help and the README say about a command; options come from the option table. */
export interface CommandText {
  readonly name: CommandName;
  /** Begins with a verb; one line. */
  readonly summary: string;
  readonly usage: string;
  /** Two command lines to copy. */
  readonly examples: readonly [string, string];
}

export const COMMAND_TEXTS: readonly CommandText[] = [
  {
    name: 'run',
    summary: 'Wrap a command: keep and deliver every line that it prints',
    usage: '[options] [--] command [args…]',
    examples: [
      'shipper run -- make -j4',
      'shipper run --to shipper+http://127.0.0.1:7790 -- ./backup.sh /home',
    ],
  },
  {
    name: 'drain',
    summary: 'Deliver what is in the spool',
    usage: '[options]',
    examples: ['shipper drain', 'shipper drain --to dir:/var/log/runs --timeout 5m'],
  },
  {
    name: 'status',
    summary: 'Show what is in the spool, and whether it is moving',
    usage: '[options]',
    examples: ['shipper status', 'shipper status --spool /var/spool/shipper --json'],
  },
  {
    name: 'receive',
    summary: 'Receive runs over HTTP into an archive directory',
    usage: '[options]',
    examples: [
      'shipper receive',
      'shipper receive --listen 127.0.0.1:7790 --dir /var/lib/shipper/received',
    ],
  },
];

export const UNITS_TEXT: string =
  'Durations read 250ms 10s 5m 2h 1d, sizes 512B 64KiB 4GiB 30MB. A flag wins over\n' +
  'its environment variable; the variable of an option that repeats holds words.';

/** `--spool <dir>`. */
export function flagText(spec: OptionSpec): string {
  return spec.value === undefined ? `--${spec.name}` : `--${spec.name} ${spec.value}`;
}

/** What the option does, and the choices where it has some. */
export function meaningText(spec: OptionSpec): string {
  return spec.kind.type === 'choice' ? `${spec.help}: ${spec.kind.choices.join(', ')}` : spec.help;
}

/** The default as it is written on a command line. */
export function defaultText(key: OptionKey): string {
  const spec = OPTION_TABLE[key];
  if (spec.defaultText !== undefined) return spec.defaultText;
  const value = DEFAULTS[key];
  switch (spec.kind.type) {
    case 'switch':
      return value === true ? 'on' : 'off';
    case 'duration':
      return formatDuration(Number(value));
    case 'size':
      return formatSize(Number(value));
    case 'count':
    case 'choice':
    case 'text':
    case 'texts':
      return String(value);
  }
}

/** One option's description in the help. */
export function descriptionText(key: OptionKey): string {
  const spec = OPTION_TABLE[key];
  return `${meaningText(spec)} (default: ${defaultText(key)}, env: ${environmentName(spec)})`;
}

import { GIB, HOUR_MS, KIB, MIB, MINUTE_MS, SECOND_MS } from './units.js';

/**
 * The one table of options: parser, help, environment variables and the README are made from it, so
 * they cannot disagree. A value set by a flag can be set by `SHIPPER_<NAME>` too.
 */

export type CommandName = 'run' | 'drain' | 'status' | 'receive';
export type OptionGroup = 'Capture' | 'Spool' | 'Delivery' | 'Receiver' | 'Output';

/** How a value is written, checked and what it becomes. */
export type OptionKind =
  | { readonly type: 'switch' }
  | { readonly type: 'text'; readonly example: string }
  | { readonly type: 'texts'; readonly example: string }
  | { readonly type: 'duration'; readonly minMs: number; readonly maxMs: number }
  | { readonly type: 'size'; readonly minBytes: number; readonly maxBytes: number }
  | { readonly type: 'count'; readonly min: number; readonly max: number }
  | { readonly type: 'choice'; readonly choices: readonly string[] };

export interface OptionSpec {
  /** As on the command line, without the dashes. */
  readonly name: string;
  /** The placeholder in the help; absent for a switch. */
  readonly value?: string;
  readonly kind: OptionKind;
  readonly commands: readonly CommandName[];
  readonly group: OptionGroup;
  readonly help: string;
  /** What the help shows where the default is no fixed value. */
  readonly defaultText?: string;
}

/** Every setting, resolved: durations in ms, sizes in bytes. */
export interface Options {
  readonly spool: string | undefined;
  readonly to: readonly string[];
  readonly tokenFile: string | undefined;
  readonly name: string | undefined;
  readonly label: readonly string[];
  readonly drainTimeout: number;
  readonly flushInterval: number;
  readonly segmentMaxBytes: number;
  readonly segmentMaxEntries: number;
  readonly maxEntryBytes: number;
  readonly fsync: 'always' | 'segment' | 'never';
  readonly noPassthrough: boolean;
  readonly cycleDeadline: number;
  readonly maxInFlight: number;
  readonly batchMaxBytes: number;
  readonly timeout: number | undefined;
  readonly stalledAfter: number;
  readonly listen: string;
  readonly dir: string;
  readonly json: boolean;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly logFormat: 'text' | 'json';
}

/** A frame's body is bounded by 4 MiB, so an entry is too; see `frames/frame.ts`. */
const MAX_ENTRY_CEILING_BYTES = 4 * MIB;

/** The only home of defaults. Each says what going up or down costs. */
export const DEFAULTS: Options = {
  spool: undefined,
  to: [],
  tokenFile: undefined,
  name: undefined,
  label: [],
  // A container stop gives 10 s in all; the rest stays in the spool and is reported.
  drainTimeout: 10 * SECOND_MS,
  // Bounds the age of an unsealed entry. Lower: more files and requests; higher: later delivery.
  flushInterval: 100,
  // One request's worth. Higher: more memory in the uploader; lower: more files and syncs.
  segmentMaxBytes: 8 * MIB,
  segmentMaxEntries: 65_536,
  // Far above the 16 KiB that breaks JSON lines elsewhere, and still cheap to hold in memory.
  maxEntryBytes: 256 * KIB,
  fsync: 'segment',
  noPassthrough: false,
  cycleDeadline: 5 * SECOND_MS,
  // Two hide the receiver's sync; four also hide a network round trip.
  maxInFlight: 4,
  batchMaxBytes: 8 * MIB,
  timeout: undefined,
  stalledAfter: MINUTE_MS,
  listen: '127.0.0.1:7790',
  dir: './received',
  json: false,
  logLevel: 'warn',
  logFormat: 'text',
};

const DAY_MS = 24 * HOUR_MS;

/**
 * One row per member of `Options`: a member without a row, or a row without one, does not compile.
 */
export const OPTION_TABLE: Readonly<Record<keyof Options, OptionSpec>> = {
  spool: {
    name: 'spool',
    value: '<dir>',
    kind: { type: 'text', example: '/var/spool/shipper' },
    commands: ['run', 'drain', 'status'],
    group: 'Spool',
    help: 'the directory that holds the runs; created with mode 0700',
    defaultText: '$XDG_STATE_HOME/shipper/spool',
  },
  to: {
    name: 'to',
    value: '<url>',
    kind: { type: 'texts', example: 'shipper+http://127.0.0.1:7790' },
    commands: ['run', 'drain'],
    group: 'Delivery',
    help:
      'destination: shipper+http(s)://host:port or dir:/path; repeat for several. ' +
      'drain without it uses what each run recorded',
    defaultText: 'none: spool only',
  },
  tokenFile: {
    name: 'token-file',
    value: '<file>',
    kind: { type: 'text', example: '/run/secrets/shipper-token' },
    commands: ['run', 'drain', 'receive'],
    group: 'Delivery',
    help:
      'file with the bearer token, read again when it is refused. SHIPPER_TOKEN holds a token ' +
      'itself; it never goes on the command line',
    defaultText: 'none',
  },
  name: {
    name: 'name',
    value: '<name>',
    kind: { type: 'text', example: 'nightly-backup' },
    commands: ['run'],
    group: 'Capture',
    help: 'what the run is called wherever it is listed',
    defaultText: 'name of the command',
  },
  label: {
    name: 'label',
    value: '<key=value>',
    kind: { type: 'texts', example: 'team=storage' },
    commands: ['run'],
    group: 'Capture',
    help: 'travels with the run; repeat for several',
    defaultText: 'none',
  },
  drainTimeout: {
    name: 'drain-timeout',
    value: '<duration>',
    kind: { type: 'duration', minMs: 0, maxMs: DAY_MS },
    commands: ['run'],
    group: 'Delivery',
    help:
      'how long to go on delivering after the command has ended; ' +
      'the rest stays in the spool and is reported',
  },
  flushInterval: {
    name: 'flush-interval',
    value: '<duration>',
    kind: { type: 'duration', minMs: 1, maxMs: HOUR_MS },
    commands: ['run'],
    group: 'Capture',
    help:
      "longest time between an entry's arrival and its sealed segment; " +
      'a stream that was quiet seals within a few ms',
  },
  segmentMaxBytes: {
    name: 'segment-max-bytes',
    value: '<size>',
    kind: { type: 'size', minBytes: 4 * KIB, maxBytes: GIB },
    commands: ['run'],
    group: 'Spool',
    help: 'a segment is sealed when it is this large',
  },
  segmentMaxEntries: {
    name: 'segment-max-entries',
    value: '<count>',
    kind: { type: 'count', min: 1, max: 1_000_000_000 },
    commands: ['run'],
    group: 'Spool',
    help: 'a segment is sealed when it holds this many entries',
  },
  maxEntryBytes: {
    name: 'max-entry-bytes',
    value: '<size>',
    kind: { type: 'size', minBytes: 1, maxBytes: MAX_ENTRY_CEILING_BYTES },
    commands: ['run'],
    group: 'Capture',
    help: 'a longer line becomes entries that continue one another',
  },
  fsync: {
    name: 'fsync',
    value: '<mode>',
    kind: { type: 'choice', choices: ['always', 'segment', 'never'] },
    commands: ['run'],
    group: 'Spool',
    help: 'what a power cut may cost; a killed process costs nothing in any mode',
  },
  noPassthrough: {
    name: 'no-passthrough',
    kind: { type: 'switch' },
    commands: ['run'],
    group: 'Capture',
    help: 'do not copy the output to our own stdout and stderr',
  },
  cycleDeadline: {
    name: 'cycle-deadline',
    value: '<duration>',
    kind: { type: 'duration', minMs: 10, maxMs: HOUR_MS },
    commands: ['run', 'drain'],
    group: 'Delivery',
    help: 'work budget of one delivery cycle before it yields',
  },
  maxInFlight: {
    name: 'max-in-flight',
    value: '<count>',
    kind: { type: 'count', min: 1, max: 64 },
    commands: ['run', 'drain'],
    group: 'Delivery',
    help: 'concurrent requests per destination',
  },
  batchMaxBytes: {
    name: 'batch-max-bytes',
    value: '<size>',
    kind: { type: 'size', minBytes: KIB, maxBytes: 64 * MIB },
    commands: ['run', 'drain'],
    group: 'Delivery',
    help: 'bytes in one request; a single frame that is larger travels alone',
  },
  timeout: {
    name: 'timeout',
    value: '<duration>',
    kind: { type: 'duration', minMs: 1, maxMs: 365 * DAY_MS },
    commands: ['drain'],
    group: 'Delivery',
    help: 'give up after this',
    defaultText: 'none: until nothing is left or nothing moves',
  },
  stalledAfter: {
    name: 'stalled-after',
    value: '<duration>',
    kind: { type: 'duration', minMs: 1, maxMs: 365 * DAY_MS },
    commands: ['drain'],
    group: 'Delivery',
    help: 'give up when nothing was acknowledged for this long',
  },
  listen: {
    name: 'listen',
    value: '<host:port>',
    kind: { type: 'text', example: '127.0.0.1:7790' },
    commands: ['receive'],
    group: 'Receiver',
    help: 'where to listen; port 0 takes a free one. Other than loopback needs a token',
  },
  dir: {
    name: 'dir',
    value: '<dir>',
    kind: { type: 'text', example: '/var/lib/shipper/received' },
    commands: ['receive'],
    group: 'Receiver',
    help: 'the archive directory; created with mode 0700',
  },
  json: {
    name: 'json',
    kind: { type: 'switch' },
    commands: ['drain', 'status', 'receive'],
    group: 'Output',
    help: 'machine-readable output on stdout',
  },
  logLevel: {
    name: 'log-level',
    value: '<level>',
    kind: { type: 'choice', choices: ['debug', 'info', 'warn', 'error', 'silent'] },
    commands: ['run', 'drain', 'status', 'receive'],
    group: 'Output',
    help: "how much of shipper's own diagnostics goes to stderr (never the output's content)",
  },
  logFormat: {
    name: 'log-format',
    value: '<format>',
    kind: { type: 'choice', choices: ['text', 'json'] },
    commands: ['run', 'drain', 'status', 'receive'],
    group: 'Output',
    help: "form of shipper's own diagnostics",
  },
};

export type OptionKey = keyof Options;

export const OPTION_KEYS = Object.keys(OPTION_TABLE) as readonly OptionKey[];

/** `--spool-max-bytes` ↔ `SHIPPER_SPOOL_MAX_BYTES`. */
export function environmentName(spec: OptionSpec): string {
  return `SHIPPER_${spec.name.toUpperCase().replaceAll('-', '_')}`;
}

export function optionKeysOf(command: CommandName): readonly OptionKey[] {
  return OPTION_KEYS.filter((key) => OPTION_TABLE[key].commands.includes(command));
}

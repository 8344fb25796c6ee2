import { ShipperError } from './errors.js';
import {
  DEFAULTS,
  OPTION_TABLE,
  environmentName,
  optionKeysOf,
  type CommandName,
  type OptionKey,
  type OptionKind,
  type OptionSpec,
  type Options,
} from './options.js';
import { formatDuration, formatSize, parseDurationMs, parseSizeBytes } from './units.js';

/** What the command line held, unparsed: text, repeated texts, or true for a switch. */
export type RawFlags = Readonly<Partial<Record<OptionKey, string | readonly string[] | true>>>;

type OptionValue = string | number | boolean | readonly string[];

/** Where a raw value came from, for messages: the flag or the variable. */
interface Source {
  readonly what: string;
  /** How a value is given there. */
  readonly how: (value: string) => string;
  readonly texts: readonly string[];
}

/**
 * Raw → resolved, once: flag > environment > default. An option of another command keeps its
 * default.
 *
 * @throws ShipperError `usage` for a flag and `config` for a variable whose value does not parse;
 *   the message names the option, the value and an example. Nothing was started.
 */
export function resolveOptions(
  command: CommandName,
  flags: RawFlags,
  environment: Readonly<Record<string, string | undefined>>,
): Options {
  const resolved: Partial<Record<OptionKey, OptionValue | undefined>> = { ...DEFAULTS };
  for (const key of optionKeysOf(command)) {
    const spec = OPTION_TABLE[key];
    const source = sourceOf(key, flags, environment);
    if (source === undefined) continue;
    resolved[key] = parseTexts(spec, source, flags[key] === undefined ? 'config' : 'usage');
  }
  return Object.freeze(resolved) as Options;
}

function sourceOf(
  key: OptionKey,
  flags: RawFlags,
  environment: Readonly<Record<string, string | undefined>>,
): Source | undefined {
  const spec = OPTION_TABLE[key];
  const flag = flags[key];
  if (flag !== undefined) {
    const texts = flag === true ? ['true'] : typeof flag === 'string' ? [flag] : flag;
    const how = (value: string): string => `--${spec.name} ${value}`;
    return { what: `option --${spec.name}`, how, texts };
  }
  const variable = environmentName(spec);
  const text = environment[variable];
  if (text === undefined || text === '') return undefined;
  const texts = spec.kind.type === 'texts' ? text.trim().split(/\s+/) : [text];
  return { what: variable, how: (value) => `${variable}=${value}`, texts };
}

function parseTexts(spec: OptionSpec, source: Source, code: 'usage' | 'config'): OptionValue {
  if (spec.kind.type === 'texts') return source.texts;
  const text = source.texts.at(-1) ?? '';
  const value = parseOne(spec.kind, text);
  if (value !== undefined) return value;
  throw new ShipperError(code, `${source.what}: "${text}" is not ${expected(spec.kind)}`, {
    hint: `for example ${source.how(exampleOf(spec))}`,
  });
}

function parseOne(kind: OptionKind, text: string): OptionValue | undefined {
  switch (kind.type) {
    case 'switch':
      return parseSwitch(text);
    case 'text':
    case 'texts':
      return text === '' ? undefined : text;
    case 'duration':
      return within(parseDurationMs(text), kind.minMs, kind.maxMs);
    case 'size':
      return within(parseSizeBytes(text), kind.minBytes, kind.maxBytes);
    case 'count':
      return within(/^\d{1,15}$/.test(text) ? Number(text) : undefined, kind.min, kind.max);
    case 'choice':
      return kind.choices.includes(text) ? text : undefined;
  }
}

function parseSwitch(text: string): boolean | undefined {
  if (['true', '1', 'yes', 'on'].includes(text.toLowerCase())) return true;
  if (['false', '0', 'no', 'off'].includes(text.toLowerCase())) return false;
  return undefined;
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

function expected(kind: OptionKind): string {
  switch (kind.type) {
    case 'switch':
      return 'true or false';
    case 'text':
    case 'texts':
      return 'a text';
    case 'duration':
      return `a duration from ${formatDuration(kind.minMs)} to ${formatDuration(kind.maxMs)}`;
    case 'size':
      return `a size from ${formatSize(kind.minBytes)} to ${formatSize(kind.maxBytes)}`;
    case 'count':
      return `a whole number from ${String(kind.min)} to ${String(kind.max)}`;
    case 'choice':
      return `one of ${kind.choices.join(', ')}`;
  }
}

function exampleOf(spec: OptionSpec): string {
  switch (spec.kind.type) {
    case 'text':
    case 'texts':
      return spec.kind.example;
    case 'duration':
      return '10s';
    case 'size':
      return '64KiB';
    case 'count':
      return '4';
    case 'choice':
      return spec.kind.choices[0] ?? '';
    case 'switch':
      return 'true';
  }
}

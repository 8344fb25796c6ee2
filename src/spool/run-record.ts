import { parseTotals } from '../core/parse-totals.js';
import type { RunMetadata, RunTotals } from '../core/run.js';
import { commitFile, readIfPresent } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import { runRecordPath } from './layout.js';
import { isProcessIdentity, type ProcessIdentity } from './process-identity.js';

/**
 * `run.json`: what ran, where it is to be delivered, who writes it; and once it has ended, how,
 * with the totals and digests that prove completeness.
 *
 * It is replaced in one step. Losing it costs the metadata and the digests, never an entry: the
 * segments alone say what there is.
 */
export interface RunRecord extends RunMetadata {
  /** URLs without credentials, in the order given. Empty: spool only. */
  readonly destinations: readonly string[];
  /** The wrapper; null when the record is damaged and nobody knows. */
  readonly writer: ProcessIdentity | null;
  /** Null while the run lives, and for a killed wrapper's until its run is recovered. */
  readonly end: RunTotals | null;
}

/**
 * Writes the record so that it survives a power cut. @throws the system error; the old one is
 * intact.
 */
export async function writeRunRecord(
  fs: FileSystem,
  directory: string,
  record: RunRecord,
): Promise<void> {
  const { end, ...rest } = record;
  const content = { ...rest, ...(end ?? {}) };
  await commitFile(
    fs,
    runRecordPath(directory),
    Buffer.from(`${JSON.stringify(content, null, 2)}\n`),
  );
}

export type RunRecordReading =
  | { readonly kind: 'record'; readonly record: RunRecord }
  /** Missing or damaged: `record` holds what can be said without it. */
  | { readonly kind: 'unreadable'; readonly record: RunRecord; readonly reason: string };

/** Never throws for what is in the file: a run with a damaged record is delivered all the same. */
export async function readRunRecord(
  fs: FileSystem,
  directory: string,
  runId: string,
): Promise<RunRecordReading> {
  const content = await readIfPresent(fs, runRecordPath(directory));
  if (content === undefined) {
    return { kind: 'unreadable', record: emptyRecord(runId), reason: 'run.json is missing' };
  }
  try {
    return { kind: 'record', record: parseRecord(JSON.parse(content.toString('utf8')), runId) };
  } catch {
    return { kind: 'unreadable', record: emptyRecord(runId), reason: 'run.json is damaged' };
  }
}

function emptyRecord(runId: string): RunRecord {
  return {
    v: 1,
    id: runId,
    name: 'unknown',
    command: [],
    labels: {},
    host: 'unknown',
    pid: 0,
    startedAt: new Date(0).toISOString(),
    shipperVersion: 'unknown',
    destinations: [],
    writer: null,
    end: null,
  };
}

function parseRecord(value: unknown, runId: string): RunRecord {
  const fields = objectOf(value);
  const id = textOf(fields['id']);
  if (fields['v'] !== 1 || id !== runId) throw new TypeError('not a run record of this run');
  return {
    v: 1,
    id,
    name: textOf(fields['name']),
    command: textsOf(fields['command']),
    labels: labelsOf(fields['labels']),
    host: textOf(fields['host']),
    pid: numberOf(fields['pid']),
    startedAt: textOf(fields['startedAt']),
    shipperVersion: textOf(fields['shipperVersion']),
    destinations: textsOf(fields['destinations']),
    writer: isProcessIdentity(fields['writer']) ? fields['writer'] : null,
    end: parseTotals(fields) ?? null,
  };
}

function labelsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(objectOf(value)).map(([key, text]) => [key, textOf(text)]),
  );
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new TypeError('not an object');
  return value as Record<string, unknown>;
}

function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) throw new TypeError('not a list');
  return value.map(textOf);
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('not a text');
  return value;
}

function numberOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new TypeError('not a number');
  return value;
}

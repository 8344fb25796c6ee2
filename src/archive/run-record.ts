import { parseObject } from '../core/json.js';
import { parseTotals } from '../core/parse-totals.js';
import type { RunTotals } from '../core/run.js';
import { commitFile, readIfPresent } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import { recordPath } from './layout.js';

/**
 * `run.json` of the archive: what the sender says of the run, the highest epoch seen, and once
 * finished the totals and digests that were proven, flat beside the metadata.
 *
 * What the sender says is kept as it came; only what the archive itself decides by is checked.
 */
export interface ArchiveRecord {
  /** As sent; empty where the record was lost. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly epoch: number;
  /** Null while the run is not finished. */
  readonly totals: RunTotals | null;
  /** ISO 8601; null while the run is not finished. */
  readonly finishedAt: string | null;
}

const OWN_FIELDS = ['epoch', 'streams', 'exit', 'gaps', 'endedAt', 'finishedAt'] as const;

/**
 * Durable before anything is answered by it. @throws the system error; the old record is intact.
 */
export async function writeArchiveRecord(
  fs: FileSystem,
  directory: string,
  record: ArchiveRecord,
): Promise<void> {
  const { metadata, epoch, totals, finishedAt } = record;
  const end = totals === null ? {} : { ...totals, finishedAt };
  const text = JSON.stringify({ ...withoutOwn(metadata), epoch, ...end }, null, 2);
  await commitFile(fs, recordPath(directory), Buffer.from(`${text}\n`));
}

/** Undefined when it is missing or damaged; the next PUT writes it anew. */
export async function readArchiveRecord(
  fs: FileSystem,
  directory: string,
): Promise<ArchiveRecord | undefined> {
  const content = await readIfPresent(fs, recordPath(directory));
  const fields = parseObject(content?.toString('utf8') ?? '');
  if (fields === undefined || !Number.isSafeInteger(fields['epoch'])) return undefined;
  const finishedAt = typeof fields['finishedAt'] === 'string' ? fields['finishedAt'] : null;
  return {
    metadata: withoutOwn(fields),
    epoch: fields['epoch'] as number,
    totals: finishedAt === null ? null : (parseTotals(fields) ?? null),
    finishedAt,
  };
}

/** A sender that names its own fields like ours finishes nothing by it. */
function withoutOwn(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const metadata = { ...fields };
  for (const name of OWN_FIELDS) Reflect.deleteProperty(metadata, name);
  return metadata;
}

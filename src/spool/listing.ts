import { isRunId } from '../core/run-id.js';
import type { StreamName } from '../core/stream.js';
import { listIfPresent } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import type { SpoolLayout } from './layout.js';
import { parseSegmentName, type SegmentName } from './segment-name.js';

/** A sealed segment: its file name, and what the name says. */
export interface SealedSegment {
  readonly name: string;
  readonly stream: StreamName;
  readonly first: number;
  readonly last: number;
}

export interface OpenSegment {
  readonly name: string;
  readonly stream: StreamName;
  readonly first: number;
}

/** The segments of a run, each list by first sequence. Nothing was opened to make it. */
export interface RunListing {
  readonly sealed: ReadonlyMap<StreamName, readonly SealedSegment[]>;
  readonly open: ReadonlyMap<StreamName, readonly OpenSegment[]>;
  /** Names that are neither segments nor ours: left alone. */
  readonly foreign: readonly string[];
}

/** Names in a run's directory that belong to it besides segments. */
const OWN_NAMES = /^(run\.json|marks\.json)(\.tmp)?$|^(writer|uploader)\.lock(\..*\.tmp)?$/;

/** Run ids in the spool, oldest first; none when there is no spool. Foreign names are left out. */
export async function listRuns(fs: FileSystem, layout: SpoolLayout): Promise<string[]> {
  return (await listIfPresent(fs, layout.runs)).filter(isRunId).sort();
}

/** One directory read, whatever the number of segments. Empty when the run is gone. */
export async function listRun(fs: FileSystem, directory: string): Promise<RunListing> {
  return arrange(await listIfPresent(fs, directory));
}

/** Sorts the names of a run's directory into what they are. */
export function arrange(names: readonly string[]): RunListing {
  const sealed = new Map<StreamName, SealedSegment[]>();
  const open = new Map<StreamName, OpenSegment[]>();
  const foreign: string[] = [];
  for (const name of names) {
    const parsed = parseSegmentName(name);
    if (parsed === undefined) {
      if (!OWN_NAMES.test(name)) foreign.push(name);
    } else if (parsed.state === 'sealed') {
      push(sealed, parsed, { name, ...parsed });
    } else {
      push(open, parsed, { name, ...parsed });
    }
  }
  for (const segments of sealed.values()) segments.sort((a, b) => a.first - b.first);
  for (const segments of open.values()) segments.sort((a, b) => a.first - b.first);
  return { sealed, open, foreign };
}

function push<T>(map: Map<StreamName, T[]>, key: SegmentName, value: T): void {
  const list = map.get(key.stream);
  if (list === undefined) map.set(key.stream, [value]);
  else list.push(value);
}

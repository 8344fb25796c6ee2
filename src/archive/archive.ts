import { systemClock, type Clock } from '../core/clock.js';
import { isRunId } from '../core/run-id.js';
import { ShipperError, reasonOf } from '../core/errors.js';
import { makeDirectories } from '../disk/durable.js';
import type { FileSystem } from '../disk/file-system.js';
import type { Logger } from '../telemetry/log.js';
import { runPath } from './layout.js';
import { RunArchive, type RunArchiveParts } from './run-archive.js';

/**
 * Each open run holds up to six descriptors. Runs beyond this are closed, the longest unused first.
 */
const MAX_OPEN_RUNS = 64;

export interface ArchiveParts {
  readonly fs: FileSystem;
  readonly log: Logger;
  readonly clock?: Clock;
}

interface OpenRun {
  readonly opening: Promise<RunArchive | undefined>;
  /** Requests that work with it now: it is not closed under them. */
  users: number;
}

/** The runs in an archive directory, opened as they are used. */
export class Archive {
  readonly dir: string;
  readonly #parts: RunArchiveParts;
  /** In the order of their last use. */
  readonly #runs = new Map<string, OpenRun>();
  readonly #working = new Set<Promise<unknown>>();

  private constructor(dir: string, { fs, log, clock = systemClock }: ArchiveParts) {
    this.dir = dir;
    this.#parts = { fs, log, clock };
  }

  /** Creates the directory where it is missing. @throws ShipperError `archive-unusable` */
  static async open(dir: string, parts: ArchiveParts): Promise<Archive> {
    try {
      await makeDirectories(parts.fs, dir);
      return new Archive(dir, parts);
    } catch (error) {
      throw new ShipperError(
        'archive-unusable',
        `cannot use the archive ${dir}: ${reasonOf(error)}`,
        { hint: 'choose a directory that you may write to', cause: error },
      );
    }
  }

  /** Calls `work` with the run; with undefined when there is none. */
  async withRun<T>(id: string, work: (run: RunArchive | undefined) => Promise<T>): Promise<T> {
    return this.#use(id, () => RunArchive.open(this.#parts, this.#place(id)), work);
  }

  /** Calls `work` with the run, which is created where it is missing. */
  async withNewRun<T>(id: string, work: (run: RunArchive) => Promise<T>): Promise<T> {
    const create = (): Promise<RunArchive> => RunArchive.create(this.#parts, this.#place(id));
    return this.#use(id, create, async (run) => {
      // Another request looked it up just before it was there.
      return run === undefined ? this.withNewRun(id, work) : work(run);
    });
  }

  /** Waits for the work under way, then closes every file. */
  async close(): Promise<void> {
    while (this.#working.size > 0) await Promise.allSettled(this.#working);
    const runs = [...this.#runs];
    this.#runs.clear();
    for (const run of runs) await this.#closeRun(run);
  }

  async #use<T>(
    id: string,
    open: () => Promise<RunArchive | undefined>,
    work: (run: RunArchive | undefined) => Promise<T>,
  ): Promise<T> {
    const entry = this.#runs.get(id) ?? { opening: open(), users: 0 };
    this.#runs.delete(id);
    this.#runs.set(id, entry);
    entry.users += 1;
    const working = this.#opened(id, entry).then(work);
    this.#working.add(working);
    try {
      return await working;
    } finally {
      entry.users -= 1;
      await this.#closeUnused();
      this.#working.delete(working);
    }
  }

  async #opened(id: string, entry: OpenRun): Promise<RunArchive | undefined> {
    let run: RunArchive | undefined;
    try {
      run = await entry.opening;
    } finally {
      // What could not be opened, or is not there, is looked up again by the next request.
      if (run === undefined && this.#runs.get(id) === entry) this.#runs.delete(id);
    }
    return run;
  }

  async #closeUnused(): Promise<void> {
    for (const run of this.#runs) {
      if (this.#runs.size <= MAX_OPEN_RUNS) return;
      if (run[1].users > 0) continue;
      this.#runs.delete(run[0]);
      await this.#closeRun(run);
    }
  }

  /** What was acknowledged is synced before, so that a failure costs nothing. */
  async #closeRun([id, { opening }]: readonly [string, OpenRun]): Promise<void> {
    try {
      await (await opening)?.close();
    } catch (error) {
      this.#parts.log.warn({ run: id }, `cannot close the files of a run: ${reasonOf(error)}`);
    }
  }

  /** Ids become paths, so nothing else than an id may pass. */
  #place(id: string): { directory: string; id: string } {
    if (!isRunId(id)) throw new Error('broken invariant: not a run id');
    return { directory: runPath(this.dir, id), id };
  }
}

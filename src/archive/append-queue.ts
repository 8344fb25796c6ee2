import { reasonOf } from '../core/errors.js';
import { entryOffset, countEntries } from '../frames/entries.js';
import { encodeHeader, lastSeqOf } from '../frames/frame.js';
import { frameAt, type PlacedFrame } from '../frames/scan.js';
import type { FrameRun, StreamArchive } from './stream-archive.js';

/** How a range of one stream was taken. `mark` is the stream's, durable, after it. */
export type AppendOutcome =
  | { readonly kind: 'accepted'; readonly mark: number }
  | { readonly kind: 'duplicate'; readonly mark: number }
  | { readonly kind: 'gap'; readonly mark: number }
  | { readonly kind: 'conflict'; readonly mark: number }
  /** A newer uploader has taken the run over since the range arrived. */
  | { readonly kind: 'fenced'; readonly mark: number }
  | { readonly kind: 'complete'; readonly mark: number }
  | { readonly kind: 'failed'; readonly mark: number; readonly reason: string };

/** A contiguous range with its frames. */
export interface AppendRange extends FrameRun {
  readonly first: number;
  readonly last: number;
  /** Of the uploader that sent it. */
  readonly epoch: number;
}

/**
 * A range that came before its predecessor is held this long. Its sender has several requests in
 * flight, and the one that is missing is a scheduling hiccup away; a real gap is answered after
 * that.
 */
const HOLD_MS = 1_000;

/** More would only hold memory: senders are told to have no more than this in flight. */
export const MAX_HELD_RANGES = 4;

interface Waiting {
  readonly range: AppendRange;
  readonly timer: NodeJS.Timeout;
  readonly answer: (outcome: AppendOutcome) => void;
  /** It was held for as long as it may be. */
  isDue: boolean;
}

/**
 * Takes ranges of one stream in whatever order they arrive, one group at a time: all that are
 * there and continue one another share the syncs. After a disk has failed it takes no more.
 */
export class AppendQueue {
  readonly #archive: StreamArchive;
  readonly #knownEpoch: () => number;
  readonly #waiting = new Set<Waiting>();
  #isBusy = false;
  /** Why the archive can take no more. */
  #failure: string | undefined;

  /** @param knownEpoch the highest that the run has seen */
  constructor(archive: StreamArchive, knownEpoch: () => number) {
    this.#archive = archive;
    this.#knownEpoch = knownEpoch;
  }

  /** Never rejects: a failed disk is an outcome, after which the archive is to be opened again. */
  append(range: AppendRange): Promise<AppendOutcome> {
    const { mark } = this.#archive;
    if (this.#failure !== undefined) {
      return Promise.resolve({ kind: 'failed', mark, reason: this.#failure });
    }
    if (this.#waiting.size >= MAX_HELD_RANGES && range.first > mark + 1) {
      return Promise.resolve({ kind: 'gap', mark });
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        waiting.isDue = true;
        // While others are written its predecessor may be among them.
        if (!this.#isBusy) this.#answerDue([]);
      }, HOLD_MS);
      const waiting: Waiting = { range, timer, answer: resolve, isDue: false };
      this.#waiting.add(waiting);
      void this.#work();
    });
  }

  /** Gives up on those that were held long enough, and are not in the group that comes next. */
  #answerDue(group: readonly Waiting[]): void {
    for (const waiting of this.#waiting) {
      if (!waiting.isDue || group.includes(waiting)) continue;
      this.#answer(waiting, { kind: 'gap', mark: this.#archive.mark });
    }
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let group = this.#nextGroup(); group.length > 0; group = this.#nextGroup()) {
        this.#answerDue(group);
        await this.#take(group);
      }
      this.#answerDue([]);
    } finally {
      this.#isBusy = false;
    }
  }

  /** Answers the duplicates, and gives the ranges that continue the mark and one another. */
  #nextGroup(): Waiting[] {
    const ready = [...this.#waiting].sort((a, b) => a.range.first - b.range.first);
    const group: Waiting[] = [];
    let mark = this.#archive.mark;
    for (const waiting of ready) {
      const { first, last, epoch } = waiting.range;
      if (epoch < this.#knownEpoch()) {
        this.#answer(waiting, { kind: 'fenced', mark: this.#archive.mark });
      } else if (last <= this.#archive.mark) {
        this.#answer(waiting, { kind: 'duplicate', mark: this.#archive.mark });
      } else if (first <= this.#archive.mark && group.length === 0) {
        // An overlap is compared with what is stored, so it goes alone.
        return [waiting];
      } else if (first === mark + 1) {
        group.push(waiting);
        mark = last;
      }
    }
    return group;
  }

  async #take(group: readonly Waiting[]): Promise<void> {
    for (const waiting of group) this.#waiting.delete(waiting);
    const outcome = await this.#append(group.map(({ range }) => range));
    const answered = outcome.kind === 'failed' ? [...group, ...this.#waiting] : group;
    for (const waiting of answered) this.#answer(waiting, outcome);
  }

  async #append(ranges: readonly AppendRange[]): Promise<AppendOutcome> {
    try {
      const { mark } = this.#archive;
      const [head, ...others] = ranges;
      if (head === undefined) return { kind: 'duplicate', mark };
      const rest = await withoutOverlap(this.#archive, head);
      if (rest === undefined) return { kind: 'conflict', mark };
      await this.#archive.append([...rest, ...others]);
      return { kind: 'accepted', mark: this.#archive.mark };
    } catch (error) {
      this.#failure = reasonOf(error);
      return { kind: 'failed', mark: this.#archive.mark, reason: this.#failure };
    }
  }

  #answer(waiting: Waiting, outcome: AppendOutcome): void {
    this.#waiting.delete(waiting);
    clearTimeout(waiting.timer);
    waiting.answer(outcome);
  }
}

/**
 * The part of a range beyond the mark; undefined when the part up to the mark is not what is
 * stored. A frame that straddles the mark is cut between two entries.
 */
async function withoutOverlap(
  archive: StreamArchive,
  range: AppendRange,
): Promise<FrameRun[] | undefined> {
  const { mark } = archive;
  if (range.first > mark) return [range];
  const stored: Buffer[] = [];
  const gaps: number[] = [];
  const beyond: PlacedFrame[] = [];
  const cut: FrameRun[] = [];
  for (const frame of range.frames) {
    const body = range.bytes.subarray(frame.bodyStart, frame.end);
    if (lastSeqOf(frame) <= mark) {
      stored.push(body);
      if (frame.gap !== undefined) gaps.push(frame.seq);
    } else if (frame.seq > mark) {
      beyond.push(frame);
    } else {
      const at = entryOffset(body, mark - frame.seq + 1);
      stored.push(body.subarray(0, at));
      cut.push(recut(frame, body.subarray(at), mark + 1));
    }
  }
  if (!(await archive.holds({ from: range.first, parts: stored, gaps }))) return undefined;
  return [...cut, { bytes: range.bytes, frames: beyond }];
}

/** A frame of its own for the last entries of another; read at the same time, in the same order. */
function recut(frame: PlacedFrame, body: Buffer, seq: number): FrameRun {
  const { t, o } = frame;
  const header = { seq, n: countEntries(body), t, o, len: body.length };
  const bytes = Buffer.concat([encodeHeader(header, [body]), body]);
  const placed = frameAt(bytes, 0);
  return { bytes, frames: 'seq' in placed ? [placed] : [] };
}

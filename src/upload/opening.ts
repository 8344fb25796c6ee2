import { STREAMS, type StreamName } from '../core/stream.js';

export type StreamMarks = Readonly<Partial<Record<StreamName, number>>>;

/** What this side knows of a stream when the destination tells its state. */
export interface KnownStream {
  /** The lowest sequence that is sealed; undefined when nothing is. */
  readonly firstSealed: number | undefined;
  /** The highest; 0 when nothing is. */
  readonly lastSealed: number;
  /** As last confirmed, by what was written down. */
  readonly mark: number;
  /** The last sequence of a stream that has ended; undefined while it goes on. */
  readonly end: number | undefined;
}

export type Opening =
  /** Go on after its marks. `lost`: what it has lost and the spool still has, in words. */
  | { readonly kind: 'go-on'; readonly lost: readonly string[] }
  /** Everything is there, and its end is confirmed. */
  | { readonly kind: 'finished' }
  /** Going on would hide a loss or cause one. */
  | { readonly kind: 'stop'; readonly reason: string; readonly hint: string };

/**
 * Compares what a destination says of a run with what the spool knows of it. Its marks become the
 * licence to remove segments, so they are believed only as far as they can be true.
 */
export function judgeOpening(
  told: { readonly marks: StreamMarks; readonly finished: boolean },
  knownOf: (stream: StreamName) => KnownStream,
): Opening {
  const lost: string[] = [];
  let isWhole = true;
  for (const stream of STREAMS) {
    const mark = told.marks[stream] ?? 0;
    const known = knownOf(stream);
    if (isFromTheFuture(mark, known)) return futureMark(stream, mark);
    if (mark < known.mark) {
      const entries = `${stream} ${String(mark + 1)} to ${String(known.mark)}`;
      const reason = `it has lost what it had confirmed: ${entries}`;
      if (!isStillSealed(mark + 1, known)) {
        return { kind: 'stop', reason, hint: 'restore it, or deliver the rest elsewhere' };
      }
      lost.push(reason);
    }
    if (known.end === undefined || mark < Math.max(known.end, known.lastSealed)) isWhole = false;
  }
  if (!told.finished) return { kind: 'go-on', lost };
  if (isWhole) return { kind: 'finished' };
  const hint = 'the spool keeps what came later';
  return { kind: 'stop', reason: 'the run is finished there', hint };
}

/** A mark that no honest destination can tell. */
export function futureMark(
  stream: StreamName,
  mark: number,
): Extract<Opening, { readonly kind: 'stop' }> {
  const reason = `it confirms ${stream} up to ${String(mark)}, which was never sent`;
  return { kind: 'stop', reason, hint: 'check that --to names the right receiver' };
}

/**
 * No uploader can have sent what was never sealed. Where nothing is sealed, all of it may have been
 * sent and removed, and nothing is there that a wrong mark could cost.
 */
function isFromTheFuture(mark: number, known: KnownStream): boolean {
  if (known.firstSealed === undefined) return false;
  return mark > Math.max(known.lastSealed, known.mark, known.end ?? 0);
}

function isStillSealed(sequence: number, { firstSealed }: KnownStream): boolean {
  return firstSealed !== undefined && firstSealed <= sequence;
}

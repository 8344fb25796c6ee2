import type { Answer, ExchangeRequest } from '../core/exchange.js';
import type { RunMetadata, RunTotals } from '../core/run.js';
import type { StreamName } from '../core/stream.js';
import type { PlacedFrame } from '../frames/scan.js';

/**
 * A destination: what it takes and how to read its answers. All of it is pure: one engine in
 * `upload/` owns retry, back-off, halving, marks and pausing, and no sink sleeps or loops.
 */
export interface Sink {
  /** The URL without credentials: how the destination is called in marks, status and messages. */
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly capabilities: Capabilities;
  /** Same batch, same bytes. */
  encode(batch: Batch): ExchangeRequest;
  judge(batch: Batch, answer: Answer): Verdict;
  /** Only of destinations that know runs: they are opened first and finished last. */
  readonly runs: RunExchange | undefined;
}

/** Which transport carries the bytes, and where to. */
export type Endpoint =
  | { readonly transport: 'http'; readonly origin: string }
  | { readonly transport: 'dir'; readonly path: string };

export interface Capabilities {
  /** Bytes in one request that the destination takes for certain. */
  readonly maxBatchBytes: number;
  /**
   * Batches of one stream that may be under way at once; more than 1 needs range acknowledgement.
   */
  readonly maxInFlightPerStream: number;
}

/** Contiguous entries of one stream that travel in one request. */
export interface Batch {
  readonly run: RunMetadata;
  readonly stream: StreamName;
  readonly first: number;
  readonly last: number;
  /** The uploader's; fences an older one. Never part of an identity. */
  readonly epoch: number;
  /** What the destination had confirmed when the batch was sent: its mark never decreases. */
  readonly markAtSend: number;
  /** The highest sequence of the stream sent so far: no honest mark lies above it. */
  readonly highestSent: number;
  /** The frames, verbatim. */
  readonly body: Buffer;
  /** Where they lie in `body`, checksums compared. */
  readonly frames: readonly PlacedFrame[];
}

/**
 * What an answer to a batch means. Only `accept` moves the mark.
 *
 * - `accept`: everything up to `mark` is settled at the destination. May be less than the batch.
 * - `rebase`: nothing of this batch was taken; go on after `mark`.
 * - `retry`: transient or unknown; the same bytes again, not before `afterMs`.
 * - `split`: too large, or a poison entry somewhere in it.
 * - `stop`: sending again cannot help: pause, keep spooling, say what to do.
 */
export type Verdict =
  | { readonly kind: 'accept'; readonly mark: number }
  | { readonly kind: 'rebase'; readonly mark: number }
  | Retry
  | { readonly kind: 'split'; readonly reason: string }
  | Reopen
  | Stop;

/**
 * The destination does not know the run (any more): open it again, and go on from the marks it
 * tells.
 */
export interface Reopen {
  readonly kind: 'reopen';
  readonly reason: string;
}

export interface Retry {
  readonly kind: 'retry';
  readonly reason: string;
  readonly afterMs?: number;
}

export interface Stop {
  readonly kind: 'stop';
  /** What has to pause: everything that goes there, or this run alone. */
  readonly scope: 'destination' | 'run';
  readonly reason: string;
  readonly hint: string;
  /** The credentials were refused: read them again before the next probe. */
  readonly credentials: boolean;
}

/** Opening and finishing a run at a destination that knows runs. */
export interface RunExchange {
  /** Creates or confirms the run, and asks for its state. */
  open(run: RunMetadata): ExchangeRequest;
  judgeOpen(answer: Answer): OpenVerdict;
  finish(run: RunMetadata, totals: RunTotals, epoch: number): ExchangeRequest;
  judgeFinish(answer: Answer): FinishVerdict;
}

export type OpenVerdict =
  | {
      readonly kind: 'opened';
      readonly marks: Readonly<Partial<Record<StreamName, number>>>;
      /** The highest epoch the destination knows; the uploader takes the next. */
      readonly epoch: number;
      readonly finished: boolean;
    }
  | Retry
  | Stop;

export type FinishVerdict =
  | { readonly kind: 'finished' }
  /** The destination misses entries: look at its marks again. */
  | { readonly kind: 'behind' }
  | Reopen
  | Retry
  | Stop;

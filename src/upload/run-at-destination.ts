import type { Clock } from '../core/clock.js';
import type { RunTotals, StreamTotals } from '../core/run.js';
import type { StreamName } from '../core/stream.js';
import { SECOND_MS } from '../core/units.js';
import type { Logger } from '../telemetry/log.js';
import type { SinkMarks } from '../spool/marks.js';
import type { RunRecord } from '../spool/run-record.js';
import type { Reopen, Retry, Stop, Verdict, Batch } from '../sinks/sink.js';
import type { BatchReader } from './batch-reader.js';
import type { BufferPool } from './buffer-pool.js';
import type { Destination } from './destination.js';
import { futureMark, judgeOpening, type KnownStream, type StreamMarks } from './opening.js';
import { StreamSender } from './stream-sender.js';

export interface RunAtDestinationParts {
  readonly destination: Destination;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pool: BufferPool;
  readonly batchMaxBytes: number;
  readonly readers: ReadonlyMap<StreamName, BatchReader>;
}

/** What could not be read is read again after this long at the earliest: it may be large. */
const READ_AGAIN_MS = 2 * SECOND_MS;

/** Where the run stands at this destination. */
type Phase = 'unopened' | 'open' | 'finished' | 'stopped';

/**
 * One run on its way to one destination: it is opened, its streams are sent, it is finished. Each
 * of these is one request at a time, or one batch, so that the loop that calls `step` keeps turns
 * fair.
 */
export class RunAtDestination {
  readonly destination: Destination;
  readonly #parts: RunAtDestinationParts;
  readonly #senders = new Map<StreamName, StreamSender>();
  #record: RunRecord;
  #marks: SinkMarks;
  #phase: Phase;
  #isAsking = false;
  #nextStream = 0;
  #lastBlockedMs = Number.NEGATIVE_INFINITY;
  /** Why a stream cannot go on, as last said. */
  readonly #toldBlocked = new Map<StreamName, string>();

  constructor(parts: RunAtDestinationParts, record: RunRecord, marks: SinkMarks) {
    this.destination = parts.destination;
    this.#parts = parts;
    this.#record = record;
    this.#marks = marks;
    const isStillWhole = judgeOpening(marks, (name) => this.#known(name)).kind === 'finished';
    this.#phase = isStillWhole ? 'finished' : 'unopened';
  }

  /** What is to be remembered of this destination. */
  get marks(): SinkMarks {
    return this.#marks;
  }

  get isFinished(): boolean {
    return this.#phase === 'finished';
  }

  /** Sending again cannot help: this run waits for a person, and for the next uploader. */
  get isStopped(): boolean {
    return this.#phase === 'stopped';
  }

  /**
   * Up to where the spool may forget the stream. Before the destination was asked, and once it does
   * not agree, that is nowhere: it may have lost what it had confirmed, and the spool may still
   * have it.
   */
  settled(stream: StreamName): number {
    if (this.#phase === 'finished') return this.#marks.marks[stream] ?? 0;
    if (this.#phase === 'unopened') return 0;
    return this.#senders.get(stream)?.mark ?? 0;
  }

  /** Nothing can be done now, nor is anything under way. */
  get isIdle(): boolean {
    if (this.#isAsking || this.#isBusy) return false;
    if (this.#phase === 'finished' || this.#phase === 'stopped') return true;
    if (this.#phase === 'unopened') return false;
    const senders = [...this.#senders.values()];
    return (
      senders.every(({ isDone, blocked }) => isDone || blocked !== undefined) && !this.#isComplete()
    );
  }

  get #isBusy(): boolean {
    return [...this.#senders.values()].some(({ isBusy }) => isBusy);
  }

  /** The directory and the record were looked at again. */
  refreshed(record: RunRecord): void {
    this.#record = record;
    if (this.#phase !== 'open') return;
    const mayReadAgain = this.#parts.clock.monotonicMs() - this.#lastBlockedMs >= READ_AGAIN_MS;
    for (const sender of this.#senders.values()) {
      if (mayReadAgain) sender.unblock();
      if (sender.isContradicted) this.#stopForFutureMark(sender.stream, sender.mark);
    }
  }

  #stopForFutureMark(stream: StreamName, mark: number): void {
    this.#senders.clear();
    const { reason, hint } = futureMark(stream, mark);
    this.#stopRun(reason, hint);
  }

  /**
   * Does the next thing that can be done now: undefined when there is nothing. The promise resolves
   * when its answer is worked in; it never rejects but for defects.
   */
  step(): Promise<void> | undefined {
    if (this.#isAsking || this.#phase === 'finished' || this.#phase === 'stopped') return undefined;
    if (this.#phase === 'unopened') {
      // What is under way may still move the marks there.
      return this.#isBusy ? undefined : this.#asking(() => this.#open());
    }
    const sender = this.#nextSender();
    if (sender !== undefined) return this.destination.occupy(() => this.#sendNext(sender));
    if (this.#isComplete()) return this.#asking(() => this.#finish());
    this.#reportMissingEnd();
    return undefined;
  }

  async #asking(ask: () => Promise<void>): Promise<void> {
    this.#isAsking = true;
    try {
      await this.destination.occupy(ask);
    } finally {
      this.#isAsking = false;
    }
  }

  async #open(): Promise<void> {
    this.#senders.clear();
    const { runs } = this.destination.sink;
    if (runs === undefined) {
      this.#opened({}, 0);
      return;
    }
    const startedMs = this.#parts.clock.monotonicMs();
    const verdict = runs.judgeOpen(await this.destination.send(runs.open(this.#record)));
    if (verdict.kind !== 'opened') {
      await this.#troubled(verdict, startedMs);
      return;
    }
    this.destination.succeeded(startedMs);
    const opening = judgeOpening(verdict, (name) => this.#known(name));
    if (opening.kind === 'go-on') {
      for (const lost of opening.lost)
        this.#warn(`${lost}; the spool still has it, sending it again`);
      this.#opened(verdict.marks, verdict.epoch);
    } else if (opening.kind === 'finished') {
      this.#marks = { ...this.#marks, marks: verdict.marks };
      this.#finished();
    } else {
      this.#stopRun(opening.reason, opening.hint);
    }
  }

  #known(stream: StreamName): KnownStream {
    const { firstSealed, lastSealed = 0 } = this.#parts.readers.get(stream) ?? {};
    const { end } = this.#record;
    return {
      firstSealed,
      lastSealed,
      mark: this.#marks.marks[stream] ?? 0,
      end: end === null ? undefined : (end.streams[stream]?.last ?? 0),
    };
  }

  #opened(marks: StreamMarks, knownEpoch: number): void {
    const { sink } = this.destination;
    const epoch = Math.max(this.#marks.epoch, knownEpoch) + 1;
    this.#marks = { ...this.#marks, epoch, marks };
    const limits = {
      maxBytes: Math.min(this.#parts.batchMaxBytes, sink.capabilities.maxBatchBytes),
      maxInFlight: sink.capabilities.maxInFlightPerStream,
    };
    for (const [stream, reader] of this.#parts.readers) {
      const mark = this.#marks.marks[stream] ?? 0;
      this.#senders.set(stream, new StreamSender(stream, reader, limits, mark));
    }
    this.#phase = 'open';
  }

  /** Streams take turns. */
  #nextSender(): StreamSender | undefined {
    const senders = [...this.#senders.values()];
    const turn = this.#nextStream++ % Math.max(1, senders.length);
    return [...senders.slice(turn), ...senders.slice(0, turn)].find(({ canSend }) => canSend);
  }

  async #sendNext(sender: StreamSender): Promise<void> {
    const read = await sender.next(this.#parts.pool);
    if (read === undefined) {
      if (sender.blocked !== undefined) this.#reportBlocked(sender.stream, sender.blocked);
      return;
    }
    const startedMs = this.#parts.clock.monotonicMs();
    const { sink, stats } = this.destination;
    const batch = sender.describe(read, this.#record, this.#marks.epoch);
    stats.batches += 1;
    const answer = await this.destination.send(sink.encode(batch));
    const verdict = sink.judge(batch, answer);
    // After any other answer the rest of the body may still be on its way.
    if (verdict.kind === 'accept') this.#parts.pool.give(read.buffer);
    await this.#work(sender, { batch, verdict, startedMs });
  }

  async #work(
    sender: StreamSender,
    { batch, verdict, startedMs }: { batch: Batch; verdict: Verdict; startedMs: number },
  ): Promise<void> {
    switch (verdict.kind) {
      case 'accept':
        this.#accepted(sender, batch, verdict.mark);
        this.destination.succeeded(startedMs);
        return;
      case 'rebase':
        sender.refused();
        // A mark that went back: ask for the state of the run, which tells all of them.
        if (verdict.mark < sender.mark) this.#reopen();
        // Nothing of it was taken, and trying at once could go on for ever.
        this.destination.failed({ kind: 'retry', reason: 'it misses earlier entries' }, startedMs);
        return;
      case 'split':
        if (sender.halve(batch)) return;
        this.#stopRun(
          `${verdict.reason}, not even ${String(batch.first)} to ${String(batch.last)} alone`,
          'they stay in the spool',
        );
        return;
      case 'reopen':
      case 'retry':
      case 'stop':
        sender.refused();
        await this.#troubled(verdict, startedMs);
    }
  }

  #accepted(sender: StreamSender, batch: Batch, mark: number): void {
    const { stats } = this.destination;
    const settled = sender.accepted(batch, mark);
    stats.entries += settled;
    if (settled > 0) stats.bytes += batch.body.length;
    this.#toldBlocked.delete(sender.stream);
    this.#marks = {
      ...this.#marks,
      marks: { ...this.#marks.marks, [sender.stream]: sender.mark },
      lastAckAt: new Date(this.#parts.clock.wallMs()).toISOString(),
      lastError: [...this.#toldBlocked.values()][0] ?? null,
    };
  }

  /** The end is known, and every stream is confirmed up to it. */
  #isComplete(): boolean {
    const { end } = this.#record;
    if (end === null) return false;
    return [...this.#senders.values()].every(
      (sender) =>
        sender.isDone &&
        sender.blocked === undefined &&
        sender.mark >= (end.streams[sender.stream]?.last ?? 0),
    );
  }

  /** Says so when the last segments of a stream that has ended are gone. */
  #reportMissingEnd(): void {
    for (const { stream, mark, isDone } of this.#senders.values()) {
      const end = this.#record.end?.streams[stream]?.last ?? 0;
      if (!isDone || mark >= end) continue;
      this.#reportBlocked(stream, `entries ${String(mark + 1)} to ${String(end)} are missing`);
    }
  }

  async #finish(): Promise<void> {
    const { runs } = this.destination.sink;
    const totals = this.#totals();
    if (runs === undefined || totals === undefined) {
      this.#finished();
      return;
    }
    const startedMs = this.#parts.clock.monotonicMs();
    const request = runs.finish(this.#record, totals, this.#marks.epoch);
    const verdict = runs.judgeFinish(await this.destination.send(request));
    if (verdict.kind === 'finished') {
      this.destination.succeeded(startedMs);
      this.#finished();
    } else if (verdict.kind === 'behind') {
      this.#reopen();
      this.destination.failed({ kind: 'retry', reason: 'it misses entries at the end' }, startedMs);
    } else {
      await this.#troubled(verdict, startedMs);
    }
  }

  /**
   * Of a run whose end nobody saw, the spool may know less than the destination: what was confirmed
   * and removed before a kill is known there alone.
   */
  #totals(): RunTotals | undefined {
    const { end } = this.#record;
    if (end === null || !('unknown' in end.exit)) return end ?? undefined;
    const streams: Partial<Record<StreamName, StreamTotals>> = {};
    for (const { stream, mark } of this.#senders.values()) {
      if (mark > 0) streams[stream] = { last: mark, bytes: null, sha256: null };
    }
    return { ...end, streams };
  }

  #finished(): void {
    this.#phase = 'finished';
    this.#marks = { ...this.#marks, finished: true, lastError: null };
  }

  async #troubled(verdict: Reopen | Retry | Stop, startedMs: number): Promise<void> {
    this.#marks = { ...this.#marks, lastError: verdict.reason };
    if (verdict.kind === 'stop' && verdict.scope === 'run') {
      this.#stopRun(verdict.reason, verdict.hint);
    } else if (verdict.kind === 'stop') {
      await this.destination.stop(verdict, startedMs);
    } else {
      if (verdict.kind === 'reopen') this.#reopen();
      this.destination.failed({ ...verdict, kind: 'retry' }, startedMs);
    }
  }

  #reopen(): void {
    if (this.#phase === 'open') this.#phase = 'unopened';
  }

  #stopRun(reason: string, hint: string): void {
    if (this.#phase === 'stopped') return;
    this.#phase = 'stopped';
    this.#marks = { ...this.#marks, lastError: reason };
    const { id } = this.destination.sink;
    this.#parts.log.error(
      { run: this.#record.id },
      `cannot deliver a run to ${id}: ${reason}; ${hint}`,
    );
  }

  #warn(message: string): void {
    this.#parts.log.warn({ run: this.#record.id }, message);
  }

  #reportBlocked(stream: StreamName, reason: string): void {
    this.#lastBlockedMs = this.#parts.clock.monotonicMs();
    if (this.#toldBlocked.get(stream) === reason) return;
    this.#toldBlocked.set(stream, reason);
    const message = `cannot deliver ${stream} any further: ${reason}; it stays in the spool`;
    this.#marks = { ...this.#marks, lastError: reason };
    this.#parts.log.error({ run: this.#record.id }, message);
  }
}

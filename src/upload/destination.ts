import { backoffMs } from '../core/backoff.js';
import type { Clock } from '../core/clock.js';
import type { Answer, ExchangeRequest } from '../core/exchange.js';
import { reasonOf } from '../core/errors.js';
import { SECOND_MS } from '../core/units.js';
import type { Retry, Sink, Stop } from '../sinks/sink.js';
import type { Logger } from '../telemetry/log.js';
import type { Transport } from './transport.js';

/** A destination that stopped is looked at again this often: somebody may have mended it. */
const PROBE_MS = 30 * SECOND_MS;

export interface DestinationParts {
  readonly sink: Sink;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly maxInFlight: number;
}

/** What has happened there so far. */
export interface DestinationStats {
  requests: number;
  batches: number;
  entries: number;
  bytes: number;
  retries: number;
}

/**
 * One destination with its one state of trouble, however many runs and segments wait for it: so a
 * destination that is down gets a bounded number of requests, and a dead one delays no other.
 */
export class Destination {
  readonly sink: Sink;
  readonly stats: DestinationStats = { requests: 0, batches: 0, entries: 0, bytes: 0, retries: 0 };
  readonly #parts: DestinationParts;
  #active = 0;
  /** Of these, how many began after the last failure. */
  #probing = 0;
  #failures = 0;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  #blockedUntilMs = Number.NEGATIVE_INFINITY;
  #stopped: Stop | undefined;
  /** Why it stopped, as last said. */
  #toldReason: string | undefined;
  #lastError: string | undefined;

  constructor(parts: DestinationParts) {
    this.sink = parts.sink;
    this.#parts = parts;
  }

  /**
   * Whether another request may start now. While there is trouble, one at a time looks whether it
   * lasts; it does not wait for those that hang since before.
   */
  get isReady(): boolean {
    if (this.#parts.clock.monotonicMs() < this.#blockedUntilMs) return false;
    if (this.#failures > 0 && this.#probing > 0) return false;
    return this.#active < this.#parts.maxInFlight;
  }

  /** How long until it may be ready again; 0 when only a request under way is waited for. */
  get blockedForMs(): number {
    return Math.max(0, this.#blockedUntilMs - this.#parts.clock.monotonicMs());
  }

  /** What it answered cannot be mended by sending again, and nothing has gone through since. */
  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** Its credentials were refused, and nothing has gone through since. */
  get refusesCredentials(): boolean {
    return this.#stopped?.credentials === true;
  }

  /** The newest trouble in words; undefined after a success. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /**
   * Takes one of the places for requests, from the reading of a batch to the working in of its
   * answer.
   */
  async occupy(work: () => Promise<void>): Promise<void> {
    const isProbe = this.#failures > 0;
    this.#active += 1;
    if (isProbe) this.#probing += 1;
    try {
      await work();
    } finally {
      this.#active -= 1;
      if (isProbe) this.#probing -= 1;
    }
  }

  send(request: ExchangeRequest): Promise<Answer> {
    this.stats.requests += 1;
    return this.#parts.transport.send(request);
  }

  /**
   * @param startedMs when the request began: one from before the last failure says nothing about
   *   what came after it, nor ends the wait that a server has asked for
   */
  succeeded(startedMs: number): void {
    if (this.#failures === 0 || startedMs < this.#lastFailureMs) return;
    this.#parts.log.info({ destination: this.sink.id }, 'delivery goes on');
    this.#failures = 0;
    this.#stopped = undefined;
    this.#toldReason = undefined;
    this.#lastError = undefined;
    this.#blockedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** @param startedMs when the request began: those that failed together count once */
  failed(verdict: Retry, startedMs: number): void {
    const { clock, random, log, sink } = this.#parts;
    const nowMs = clock.monotonicMs();
    this.stats.retries += 1;
    // What the server asks for holds for all.
    this.#waitAtLeast(nowMs + (verdict.afterMs ?? 0));
    if (startedMs < this.#lastFailureMs) return;
    this.#stopped = undefined;
    this.#lastError = verdict.reason;
    this.#failures += 1;
    this.#lastFailureMs = nowMs;
    const waitMs = backoffMs(this.#failures, random(), verdict.afterMs);
    this.#waitAtLeast(nowMs + waitMs);
    const fields = { destination: sink.id, failures: this.#failures, waitMs };
    const message = `cannot deliver: ${verdict.reason}; trying again`;
    // A person hears of it once; the rest is for those who look for it.
    if (this.#failures === 1) log.info(fields, message);
    else log.debug(fields, message);
  }

  /**
   * Pauses, says once what to do, and reads the credentials again before the next probe. Where they
   * have been replaced meanwhile, the new ones are tried first.
   *
   * @param startedMs when the request began
   */
  async stop(verdict: Stop, startedMs: number): Promise<void> {
    if (verdict.credentials && (await this.#hasNewCredentials(startedMs))) {
      this.failed({ kind: 'retry', reason: verdict.reason }, startedMs);
      return;
    }
    const { clock, log, sink } = this.#parts;
    this.#lastError = `${verdict.reason}; ${verdict.hint}`;
    if (this.#toldReason !== verdict.reason) {
      log.warn({}, `cannot deliver to ${sink.id}: ${verdict.reason}; ${verdict.hint}`);
    }
    this.#toldReason = verdict.reason;
    this.#stopped = verdict;
    this.#failures += 1;
    this.#lastFailureMs = clock.monotonicMs();
    this.#waitAtLeast(this.#lastFailureMs + PROBE_MS);
  }

  #waitAtLeast(untilMs: number): void {
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
  }

  async close(): Promise<void> {
    await this.#parts.transport.close();
  }

  /** Others than those that a request from then on has carried. */
  async #hasNewCredentials(sinceMs: number): Promise<boolean> {
    const { clock, transport, log } = this.#parts;
    try {
      // Another request that was refused may have read them first.
      if (!(await transport.renew())) return sinceMs < this.#renewedMs;
      this.#renewedMs = clock.monotonicMs();
      return true;
    } catch (error) {
      log.warn({}, reasonOf(error));
      return false;
    }
  }
}

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
  #failures = 0;
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  #blockedUntilMs = Number.NEGATIVE_INFINITY;
  #stopped: Stop | undefined;
  #lastError: string | undefined;

  constructor(parts: DestinationParts) {
    this.sink = parts.sink;
    this.#parts = parts;
  }

  /**
   * Whether another request may start now. While there is trouble, one at a time looks whether it
   * lasts.
   */
  get isReady(): boolean {
    if (this.#parts.clock.monotonicMs() < this.#blockedUntilMs) return false;
    return this.#active < (this.#failures > 0 ? 1 : this.#parts.maxInFlight);
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
    this.#active += 1;
    try {
      await work();
    } finally {
      this.#active -= 1;
    }
  }

  send(request: ExchangeRequest): Promise<Answer> {
    this.stats.requests += 1;
    return this.#parts.transport.send(request);
  }

  succeeded(): void {
    if (this.#failures > 0) {
      this.#parts.log.info({ destination: this.sink.id }, 'delivery goes on');
    }
    this.#failures = 0;
    this.#stopped = undefined;
    this.#lastError = undefined;
    this.#blockedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** @param startedMs when the request began: those that failed together count once */
  failed(verdict: Retry, startedMs: number): void {
    this.#lastError = verdict.reason;
    this.stats.retries += 1;
    if (startedMs < this.#lastFailureMs) return;
    const { clock, random, log, sink } = this.#parts;
    this.#failures += 1;
    this.#lastFailureMs = clock.monotonicMs();
    const waitMs = backoffMs(this.#failures, random(), verdict.afterMs);
    this.#blockedUntilMs = this.#lastFailureMs + waitMs;
    const fields = { destination: sink.id, failures: this.#failures, waitMs };
    const message = `cannot deliver: ${verdict.reason}; trying again`;
    // A person hears of it once; the rest is for those who look for it.
    if (this.#failures === 1) log.info(fields, message);
    else log.debug(fields, message);
  }

  /** Pauses, says once what to do, and reads the credentials again before the next probe. */
  async stop(verdict: Stop): Promise<void> {
    const { clock, log, sink } = this.#parts;
    this.#lastError = `${verdict.reason}; ${verdict.hint}`;
    if (this.#stopped?.reason !== verdict.reason) {
      log.warn({}, `cannot deliver to ${sink.id}: ${verdict.reason}; ${verdict.hint}`);
    }
    this.#stopped = verdict;
    this.#failures += 1;
    this.#lastFailureMs = clock.monotonicMs();
    this.#blockedUntilMs = this.#lastFailureMs + PROBE_MS;
    if (verdict.credentials) await this.#renew();
  }

  async close(): Promise<void> {
    await this.#parts.transport.close();
  }

  async #renew(): Promise<void> {
    try {
      await this.#parts.transport.renew();
    } catch (error) {
      this.#parts.log.warn({}, reasonOf(error));
    }
  }
}

import type { Agent, Dispatcher } from 'undici';
import { reasonOf, systemCode } from '../core/errors.js';
import {
  singleValues,
  type Answer,
  type ExchangeFailure,
  type ExchangeRequest,
} from '../core/exchange.js';
import { MINUTE_MS, SECOND_MS } from '../core/units.js';
import type { TokenSource } from './token.js';
import type { Transport } from './transport.js';

export interface HttpTransportSettings {
  readonly origin: string;
  readonly tokens: TokenSource;
  readonly userAgent: string;
  readonly connections: number;
  /** Of connecting, of the wait for an answer, and of the whole attempt. */
  readonly timeouts?: Timeouts;
}

interface Timeouts {
  readonly connectMs: number;
  readonly answerMs: number;
  readonly totalMs: number;
}

/** Long enough for a receiver that syncs to a slow disk, short enough to notice a dead one. */
const TIMEOUTS: Timeouts = {
  connectMs: 10 * SECOND_MS,
  answerMs: 30 * SECOND_MS,
  totalMs: MINUTE_MS,
};

/** Below any server's own, so that we never write to a socket that it is closing. */
const KEEP_ALIVE_MS = 2 * SECOND_MS;

/** Answers of honest destinations are small; of a larger one nothing is believed. */
const ANSWER_MAX_BYTES = 1024 * 1024;

/**
 * HTTP by undici: pooled connections, one request at a time on each, bodies with a length, no
 * redirects, and no retry of the library's (it sends a POST twice that had arrived).
 *
 * undici is loaded with the first request: it takes 100 ms, and the command starts before that.
 */
export class HttpTransport implements Transport {
  readonly #settings: HttpTransportSettings;
  readonly #timeouts: Timeouts;
  readonly #attempts = new Set<AbortController>();
  #agent: Promise<Agent> | undefined;
  #isClosed = false;

  constructor(settings: HttpTransportSettings) {
    this.#settings = settings;
    this.#timeouts = settings.timeouts ?? TIMEOUTS;
  }

  async send(request: ExchangeRequest): Promise<Answer> {
    const agent = (this.#agent ??= this.#newAgent());
    try {
      const answer = await this.#attempt(await agent, request);
      await settledSocket();
      return answer;
    } catch (error) {
      // The next request resolves the name again and opens a new connection. Those that are under
      // way on the others go on: a failed request costs that request only.
      if (this.#agent === agent) this.#agent = undefined;
      void agent.then((old) => old.close()).catch(() => undefined);
      return this.#isClosed ? CLOSED : failureOf(error);
    }
  }

  renew(): Promise<boolean> {
    return this.#settings.tokens.read();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const attempt of this.#attempts) attempt.abort();
    await (await this.#agent?.catch(() => undefined))?.destroy();
  }

  async #newAgent(): Promise<Agent> {
    const { Agent: AgentClass } = await import('undici');
    if (this.#isClosed) throw new Error(CLOSED.reason);
    const { connectMs, answerMs } = this.#timeouts;
    return new AgentClass({
      connections: this.#settings.connections,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      headersTimeout: answerMs,
      bodyTimeout: answerMs,
      connect: { timeout: connectMs },
    });
  }

  /** One request, until its answer has arrived whole or its time is over. */
  async #attempt(agent: Agent, request: ExchangeRequest): Promise<Answer> {
    const attempt = new AbortController();
    const timer = setTimeout(() => {
      attempt.abort(tooSlow(this.#timeouts.totalMs));
    }, this.#timeouts.totalMs);
    this.#attempts.add(attempt);
    try {
      return await this.#exchange(agent, request, attempt.signal);
    } finally {
      clearTimeout(timer);
      this.#attempts.delete(attempt);
    }
  }

  async #exchange(agent: Agent, request: ExchangeRequest, signal: AbortSignal): Promise<Answer> {
    const { method, path, headers, body } = request;
    const response = await agent.request({
      origin: this.#settings.origin,
      path,
      method,
      headers: { 'user-agent': this.#settings.userAgent, ...this.#authorization(), ...headers },
      body: body ?? null,
      signal,
    });
    const content = await readCapped(response.body);
    return {
      kind: 'response',
      status: response.statusCode,
      headers: singleValues(response.headers),
      body: content,
    };
  }

  #authorization(): Record<string, string> {
    const { token } = this.#settings.tokens;
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }
}

const CLOSED: ExchangeFailure = {
  kind: 'failure',
  code: 'ABORT_ERR',
  reason: 'the upload has ended',
};

function tooSlow(limitMs: number): Error {
  const seconds = String(limitMs / SECOND_MS);
  return Object.assign(new Error(`no whole answer within ${seconds} s`), { code: 'ETIMEDOUT' });
}

/**
 * A server that closes the connection after its answer says so in the turns that follow. A request
 * sent before that on an only connection is lost half the time (measured); two turns later undici
 * knows.
 */
async function settledSocket(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function readCapped(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_MAX_BYTES) throw new Error('the answer is larger than any honest one');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Built from code and message of the error alone: it may carry the request, and with it the token.
 */
function failureOf(error: unknown): ExchangeFailure {
  const causes = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const first = causes[0];
  const cause = first instanceof Error ? first.cause : undefined;
  const code = systemCode(first) ?? systemCode(cause) ?? 'UNKNOWN';
  const reasons = causes.map((one) =>
    systemCode(one) === undefined ? reasonOf(one) : describe(one),
  );
  return { kind: 'failure', code, reason: [...new Set(reasons)].join(', ') };
}

function describe(error: unknown): string {
  const code = systemCode(error) ?? '';
  return reasonOf(error).includes(code) ? reasonOf(error) : `${reasonOf(error)} (${code})`;
}

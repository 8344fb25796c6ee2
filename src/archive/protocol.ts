import { reasonOf, systemCode } from '../core/errors.js';
import type { ExchangeRequest, ExchangeResponse } from '../core/exchange.js';
import { parseObject } from '../core/json.js';
import { parseTotals } from '../core/parse-totals.js';
import { isRunId } from '../core/run-id.js';
import { isStreamName, type StreamName } from '../core/stream.js';
import { MAX_BODY_BYTES } from '../frames/frame.js';
import { MAX_HELD_RANGES, type AppendOutcome } from './append-queue.js';
import { MAX_BATCH_BYTES, parseRange, readAppend } from './append-request.js';
import type { Archive } from './archive.js';
import { json, problem } from './problem.js';
import type { RunArchive } from './run-archive.js';

/** Metadata and totals are small; more than this is no client of ours. */
const MAX_JSON_BYTES = 1024 * 1024;

/** Told in every answer, so that clients need no configuration. */
const LIMITS =
  `max-batch-bytes=${String(MAX_BATCH_BYTES)}, max-entry-bytes=${String(MAX_BODY_BYTES)}, ` +
  `max-inflight=${String(MAX_HELD_RANGES)}`;

/** What a receiver has done since it started. */
export interface ProtocolStats {
  requests: number;
  /** Entries that were new here. */
  entries: number;
  /** Bytes of request bodies that were taken. */
  bytes: number;
}

/**
 * The native protocol, version 1, as a function: a request in, an answer out, against one archive.
 * It knows no sockets and no credentials. Both the receiver and the `dir:` destination use it, so
 * that both keep the same promises.
 *
 * The checks come in a fixed order, so that each case has one answer; duplicates are answered
 * before size and encoding are looked at, because a client that lost an answer must never be
 * refused for it.
 */
export class NativeProtocol {
  readonly stats: ProtocolStats = { requests: 0, entries: 0, bytes: 0 };
  readonly #archive: Archive;

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  /** Rejects for defects only: a disk that fails is answered with 507. */
  async handle(request: ExchangeRequest): Promise<ExchangeResponse> {
    this.stats.requests += 1;
    const response = await this.#route(request).catch(storageFailure);
    const headers = { 'cache-control': 'no-store', 'shipper-limits': LIMITS, ...response.headers };
    return { ...response, headers };
  }

  async #route(request: ExchangeRequest): Promise<ExchangeResponse> {
    const match = /^\/v1\/runs\/([^/?]+)(?:\/(?:streams\/([^/?]+)|(finish)))?$/.exec(request.path);
    const [, id, stream, finish] = match ?? [];
    if (id === undefined) return problem('not-found', 'there is nothing at this path');
    const version = request.headers['shipper-version'];
    if (version !== undefined && version !== '1') {
      return problem('unsupported-version', 'version 1 is spoken here', { 'shipper-version': '1' });
    }
    if (!isRunId(id)) return badRequest('the run id is not a ULID');
    if (finish !== undefined)
      return this.#ifPosted(request, (run) => this.#finish(request, run), id);
    if (stream === undefined) return this.#run(request, id);
    if (!isStreamName(stream)) return problem('not-found', 'a run has no such stream');
    return this.#ifPosted(request, (run) => this.#append(request, run, stream), id);
  }

  async #run(request: ExchangeRequest, id: string): Promise<ExchangeResponse> {
    if (request.method === 'PUT') return this.#describe(request, id);
    if (request.method === 'POST') return methodNotAllowed('GET, HEAD, PUT');
    return this.#archive.withRun(id, async (run) =>
      run === undefined ? unknownRun() : stateOf(run),
    );
  }

  async #describe(request: ExchangeRequest, id: string): Promise<ExchangeResponse> {
    const metadata = jsonBody(request);
    if (metadata === undefined) return badRequest('the body is not a JSON object');
    if (metadata['id'] !== id) return badRequest('the metadata is of another run');
    return this.#archive.withNewRun(id, async (run) => {
      await run.describe(metadata);
      return stateOf(run);
    });
  }

  async #ifPosted(
    request: ExchangeRequest,
    work: (run: RunArchive) => Promise<ExchangeResponse>,
    id: string,
  ): Promise<ExchangeResponse> {
    if (request.method !== 'POST') return methodNotAllowed('POST');
    return this.#archive.withRun(id, async (run) => (run === undefined ? unknownRun() : work(run)));
  }

  async #append(
    request: ExchangeRequest,
    run: RunArchive,
    stream: StreamName,
  ): Promise<ExchangeResponse> {
    const epoch = epochOf(request);
    const range = parseRange(request.headers['shipper-range']);
    const mark = await run.mark(stream);
    if (epoch === undefined) return badRequest('Shipper-Epoch is missing', marks(run, mark));
    if (range === undefined) return badRequest('Shipper-Range is missing', marks(run, mark));
    if (!(await run.admit(epoch))) return fenced(run, marks(run, mark));
    if (range.last <= mark) return accepted(run, mark, true);
    if (run.isFinished) return complete(run, mark);
    const frames = await readAppend(request, { ...range, epoch });
    if ('status' in frames)
      return { ...frames, headers: { ...frames.headers, ...marks(run, mark) } };
    const outcome = await run.append(stream, frames);
    if (outcome.kind === 'accepted') {
      this.stats.entries += range.last - Math.max(mark, range.first - 1);
      this.stats.bytes += frames.bytes.length;
    }
    return appendAnswer(run, outcome);
  }

  async #finish(request: ExchangeRequest, run: RunArchive): Promise<ExchangeResponse> {
    const epoch = epochOf(request);
    const totals = parseTotals(jsonBody(request) ?? {});
    if (epoch === undefined) return badRequest('Shipper-Epoch is missing');
    if (totals === undefined) return badRequest('the body is not a final record');
    if (!(await run.admit(epoch))) return fenced(run);
    const outcome = await run.finish(totals);
    switch (outcome.kind) {
      case 'finished':
        return stateOf(run);
      case 'gap':
        return problem('gap', `entries are missing in ${outcome.streams.join(' and ')}`);
      case 'conflict':
        return problem('finish-conflict', outcome.reason);
    }
  }
}

async function stateOf(run: RunArchive): Promise<ExchangeResponse> {
  return json(await run.state(), { 'shipper-epoch': String(run.epoch) });
}

function appendAnswer(run: RunArchive, outcome: AppendOutcome): ExchangeResponse {
  const headers = marks(run, outcome.mark);
  switch (outcome.kind) {
    case 'accepted':
      return accepted(run, outcome.mark, false);
    case 'duplicate':
      return accepted(run, outcome.mark, true);
    case 'gap':
      return problem('gap', `the next sequence is ${String(outcome.mark + 1)}`, headers);
    case 'conflict':
      return problem('content-conflict', 'other content is stored for these sequences', headers);
    case 'fenced':
      return fenced(run, headers);
    case 'complete':
      return complete(run, outcome.mark);
    case 'failed':
      return problem('storage-failed', outcome.reason, headers);
  }
}

function accepted(run: RunArchive, mark: number, duplicate: boolean): ExchangeResponse {
  return json({ accepted: mark, duplicate, rejected: [] }, marks(run, mark));
}

function complete(run: RunArchive, mark: number): ExchangeResponse {
  return problem('run-complete', 'the run is finished', marks(run, mark));
}

function storageFailure(error: unknown): ExchangeResponse {
  if (systemCode(error) === undefined) throw error;
  return problem('storage-failed', reasonOf(error));
}

function fenced(run: RunArchive, headers?: Record<string, string>): ExchangeResponse {
  return problem('fenced', `epoch ${String(run.epoch)} has taken over`, headers);
}

function badRequest(detail: string, headers?: Record<string, string>): ExchangeResponse {
  return problem('bad-request', detail, headers);
}

function marks(run: RunArchive, mark: number): Record<string, string> {
  return { 'shipper-accepted': String(mark), 'shipper-epoch': String(run.epoch) };
}

function unknownRun(): ExchangeResponse {
  return problem('run-unknown', 'there is no such run: PUT its metadata first');
}

function methodNotAllowed(allow: string): ExchangeResponse {
  return problem('method-not-allowed', `only ${allow} here`, { allow });
}

function epochOf(request: ExchangeRequest): number | undefined {
  const text = request.headers['shipper-epoch'];
  return text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

function jsonBody(request: ExchangeRequest): Record<string, unknown> | undefined {
  if (request.body === undefined || request.body.length > MAX_JSON_BYTES) return undefined;
  return parseObject(request.body.toString('utf8'));
}

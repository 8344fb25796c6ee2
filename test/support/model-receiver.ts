import type { Answer, ExchangeRequest, ExchangeResponse } from '../../src/core/exchange.js';
import { STREAMS, type StreamName } from '../../src/core/stream.js';
import { scanFrames } from '../../src/frames/scan.js';
import type { Transport } from '../../src/upload/transport.js';

interface ModelRun {
  epoch: number;
  isFinished: boolean;
  /** Of each stream its entries, in order: their number is its mark. */
  readonly entries: Record<StreamName, string[]>;
}

/** The native protocol in a few lines and in memory: what an uploader's far end should do. */
export class ModelReceiver {
  readonly runs = new Map<string, ModelRun>();
  requests = 0;

  handle(request: ExchangeRequest, takeAtMost = Number.POSITIVE_INFINITY): ExchangeResponse {
    this.requests += 1;
    const [, , , id = '', kind, stream] = request.path.split('/');
    if (request.method === 'PUT') return this.#state(id, this.#runOf(id));
    const run = this.runs.get(id);
    if (run === undefined) return problem(404, 'run-unknown');
    const epoch = Number(request.headers['shipper-epoch']);
    if (epoch < run.epoch) return problem(409, 'fenced');
    run.epoch = epoch;
    if (kind === 'streams') return append(run, stream as StreamName, request, takeAtMost);
    return this.#finish(id, run, request);
  }

  /** What has arrived of a stream. */
  text(id: string, stream: StreamName = 'stdout'): string {
    return this.runs.get(id)?.entries[stream].join('') ?? '';
  }

  mark(id: string, stream: StreamName = 'stdout'): number {
    return this.runs.get(id)?.entries[stream].length ?? 0;
  }

  #runOf(id: string): ModelRun {
    const known = this.runs.get(id);
    if (known !== undefined) return known;
    const run = { epoch: 0, isFinished: false, entries: { stdout: [], stderr: [], merged: [] } };
    this.runs.set(id, run);
    return run;
  }

  #state(id: string, { epoch, isFinished, entries }: ModelRun): ExchangeResponse {
    const marks = Object.fromEntries(STREAMS.map((name) => [name, entries[name].length]));
    return json(200, { id, epoch, finished: isFinished, marks });
  }

  #finish(id: string, run: ModelRun, request: ExchangeRequest): ExchangeResponse {
    const { streams } = JSON.parse(String(request.body)) as {
      streams: Partial<Record<StreamName, { last: number }>>;
    };
    for (const name of STREAMS) {
      const last = streams[name]?.last ?? 0;
      if (run.entries[name].length < last) return problem(409, 'gap');
      if (run.entries[name].length > last) return problem(409, 'finish-conflict');
    }
    run.isFinished = true;
    return this.#state(id, run);
  }
}

function append(
  run: ModelRun,
  stream: StreamName,
  request: ExchangeRequest,
  takeAtMost: number,
): ExchangeResponse {
  const stored = run.entries[stream];
  const accepted = (): Record<string, string> => ({ 'shipper-accepted': String(stored.length) });
  const [first = 0, last = 0] = (request.headers['shipper-range'] ?? '').match(/\d+/g)!.map(Number);
  if (last <= stored.length) return json(200, {}, accepted());
  if (run.isFinished) return problem(409, 'run-complete', accepted());
  if (first > stored.length + 1) return problem(409, 'gap', accepted());
  const sent = entriesOf(request.body!);
  if (sent.length !== last - first + 1) return problem(422, 'malformed', accepted());
  const known = stored.length - first + 1;
  if (sent.slice(0, known).join('') !== stored.slice(first - 1).join('')) {
    return problem(409, 'content-conflict', accepted());
  }
  stored.push(...sent.slice(known, known + takeAtMost));
  return json(200, {}, accepted());
}

function entriesOf(body: Buffer): string[] {
  const { frames, end } = scanFrames(body);
  if (end.kind !== 'complete') return [];
  return frames.flatMap(
    ({ bodyStart, end: bodyEnd }) =>
      body.toString('latin1', bodyStart, bodyEnd).match(/[^\n]*\n|[^\n]+$/g) ?? [],
  );
}

/** An answer with a JSON body. */
export function json(
  status: number,
  content: object,
  headers: Record<string, string> = {},
): ExchangeResponse {
  return { kind: 'response', status, headers, body: Buffer.from(JSON.stringify(content)) };
}

/** A refusal as the native protocol words it. */
export function problem(
  status: number,
  name: string,
  headers: Record<string, string> = {},
): ExchangeResponse {
  const all = { 'content-type': 'application/problem+json', ...headers };
  return json(status, { type: `urn:shipper:problem:${name}` }, all);
}

/** Hands each request to a function, which may lie, lose and delay. */
export class ModelTransport implements Transport {
  readonly requests: ExchangeRequest[] = [];
  renewals = 0;
  isClosed = false;
  readonly #answer: (request: ExchangeRequest) => Answer | Promise<Answer>;

  constructor(answer: (request: ExchangeRequest) => Answer | Promise<Answer>) {
    this.#answer = answer;
  }

  async send(request: ExchangeRequest): Promise<Answer> {
    this.requests.push(request);
    return this.#answer(request);
  }

  renew(): Promise<boolean> {
    this.renewals += 1;
    return Promise.resolve(false);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

import { join } from 'node:path';
import { Archive } from '../../src/archive/archive.js';
import { NativeProtocol } from '../../src/archive/protocol.js';
import type { ExchangeRequest, ExchangeResponse } from '../../src/core/exchange.js';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { silentLogger, type Logger } from '../../src/telemetry/log.js';
import { temporaryDirectory } from './temporary-directory.js';

export const RUN = '01J00000000000000000000000';

/** An archive behind the native protocol, spoken to without sockets. */
export class NativePeer {
  readonly dir: string;
  readonly #fs: FileSystem;
  readonly #log: Logger;
  #archive: Archive | undefined;
  #protocol: NativeProtocol | undefined;

  constructor(fs = nodeFileSystem, dir: string = temporaryDirectory(), log = silentLogger) {
    this.#fs = fs;
    this.#log = log;
    this.dir = dir;
  }

  /** The path of one of the run's files. */
  file(name: string): string {
    return join(this.dir, RUN, name);
  }

  /** Forgets everything that is in memory, as a kill does: files stay open and are not closed. */
  restart(): void {
    this.#archive = undefined;
    this.#protocol = undefined;
  }

  async close(): Promise<void> {
    await this.#archive?.close();
    this.restart();
  }

  async handle(request: Partial<ExchangeRequest>): Promise<ExchangeResponse> {
    this.#archive ??= await Archive.open(this.dir, { fs: this.#fs, log: this.#log });
    this.#protocol ??= new NativeProtocol(this.#archive);
    const path = `/v1/runs/${RUN}`;
    return this.#protocol.handle({ method: 'GET', path, headers: {}, body: undefined, ...request });
  }

  put(metadata: object = { v: 1, id: RUN }): Promise<ExchangeResponse> {
    return this.handle({ method: 'PUT', body: Buffer.from(JSON.stringify(metadata)) });
  }

  append(
    first: number,
    last: number,
    body: Buffer,
    headers: Record<string, string> = {},
  ): Promise<ExchangeResponse> {
    return this.handle({
      method: 'POST',
      path: `/v1/runs/${RUN}/streams/stdout`,
      headers: {
        'shipper-version': '1',
        'shipper-epoch': '1',
        'shipper-range': `first=${String(first)}, last=${String(last)}`,
        'content-type': 'application/vnd.shipper.frames',
        ...headers,
      },
      body,
    });
  }

  finish(
    streams: object,
    headers: Record<string, string> = { 'shipper-epoch': '1' },
  ): Promise<ExchangeResponse> {
    const totals = { streams, exit: { code: 0 }, gaps: 0, endedAt: null };
    const body = Buffer.from(JSON.stringify(totals));
    return this.handle({ method: 'POST', path: `/v1/runs/${RUN}/finish`, headers, body });
  }

  async mark(): Promise<number | undefined> {
    const state = JSON.parse((await this.handle({})).body.toString()) as {
      marks: { stdout?: number };
    };
    return state.marks.stdout;
  }
}

/** Status, problem name and mark of an answer: what a client decides by. */
export function gist(answer: ExchangeResponse): string {
  const { status, headers, body } = answer;
  const type = headers['content-type'] === 'application/problem+json' ? problemOf(body) : '';
  const mark = headers['shipper-accepted'];
  return [status, type, mark === undefined ? '' : `mark ${mark}`].filter(Boolean).join(' ');
}

function problemOf(body: Buffer): string {
  return (JSON.parse(body.toString()) as { title: string }).title;
}

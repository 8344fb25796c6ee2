import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { Archive } from '../../src/archive/archive.js';
import { NativeProtocol } from '../../src/archive/protocol.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { startReceiver, type Receiver } from '../../src/receive/receiver.js';
import { silentLogger } from '../../src/telemetry/log.js';
import { temporaryDirectory } from './temporary-directory.js';

/** A receiver in this process, on a free loopback port; closed with the test. */
export interface Served {
  readonly receiver: Receiver;
  readonly protocol: NativeProtocol;
  /** The archive directory. */
  readonly dir: string;
}

export async function serveArchive(token?: string): Promise<Served> {
  const dir = temporaryDirectory();
  const archive = await Archive.open(dir, { fs: nodeFileSystem, log: silentLogger });
  const protocol = new NativeProtocol(archive);
  const receiver = await startReceiver({
    host: '127.0.0.1',
    port: 0,
    token: () => token,
    protocol,
    log: silentLogger,
  });
  onTestFinished(async () => {
    await receiver.close();
    await archive.close();
  });
  return { receiver, protocol, dir };
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** One request on a connection of its own. */
export function ask(
  port: number,
  method: string,
  path: string,
  send: { headers?: Record<string, string>; body?: Buffer | string } = {},
): Promise<Reply> {
  const { headers = {}, body } = send;
  const options = { host: '127.0.0.1', port, agent: false, method, path, headers };
  return new Promise((resolve, reject) => {
    const client = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    client.on('error', reject);
    client.end(body);
  });
}

export function put(port: number, id: string): Promise<Reply> {
  const body = JSON.stringify({ v: 1, id });
  const headers = { 'content-length': String(body.length) };
  return ask(port, 'PUT', `/v1/runs/${id}`, { headers, body });
}

/** Headers of an append of one entry. */
export function appendHeaders(seq: number, body: Buffer): Record<string, string> {
  return {
    'shipper-epoch': '1',
    'shipper-range': `first=${String(seq)}, last=${String(seq)}`,
    'content-type': 'application/vnd.shipper.frames',
    'content-length': String(body.length),
  };
}

export function append(port: number, id: string, seq: number, body: Buffer): Promise<Reply> {
  const headers = appendHeaders(seq, body);
  return ask(port, 'POST', `/v1/runs/${id}/streams/stdout`, { headers, body });
}

/** A connection that says what a test wants, and remembers what it was told. */
export class RawClient {
  readonly socket: Socket;
  /** Everything received so far. */
  text = '';
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1').on('data', (part: string) => (this.text += part));
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        resolve();
      });
    });
    onTestFinished(() => {
      this.socket.destroy();
    });
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** Sends a whole request, or as much of its body as is given. */
  request(method: string, path: string, headers: Record<string, string>, body: Buffer): this {
    const lines = Object.entries({ host: 'x', ...headers }).map(([k, v]) => `${k}: ${v}\r\n`);
    return this.send(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`).send(body);
  }

  /** Resolves once the text matches. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.text)) {
      await new Promise((resolve) => this.socket.once('data', resolve));
    }
    return this.text;
  }
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAX_BATCH_BYTES } from '../../src/archive/append-request.js';
import { Archive } from '../../src/archive/archive.js';
import { NativeProtocol } from '../../src/archive/protocol.js';
import { newRunId } from '../../src/core/run-id.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { startReceiver, type Receiver } from '../../src/receive/receiver.js';
import { silentLogger } from '../../src/telemetry/log.js';
import { frameOf } from '../support/frames.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

interface Served {
  readonly receiver: Receiver;
  readonly protocol: NativeProtocol;
  readonly dir: string;
}

async function serve(token?: string): Promise<Served> {
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

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

function ask(
  receiver: Receiver,
  method: string,
  path: string,
  send: { headers?: Record<string, string>; body?: Buffer | string } = {},
): Promise<Reply> {
  const { headers = {}, body } = send;
  const options = { method, port: receiver.port, path, headers };
  return new Promise((resolve, reject) => {
    const client = request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
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

function put(receiver: Receiver, id: string): Promise<Reply> {
  const body = JSON.stringify({ v: 1, id });
  const headers = { 'content-length': String(body.length) };
  return ask(receiver, 'PUT', `/v1/runs/${id}`, { headers, body });
}

function append(receiver: Receiver, id: string, seq: number, body: Buffer): Promise<Reply> {
  return ask(receiver, 'POST', `/v1/runs/${id}/streams/stdout`, {
    headers: {
      'shipper-epoch': '1',
      'shipper-range': `first=${String(seq)}, last=${String(seq)}`,
      'content-type': 'application/vnd.shipper.frames',
      'content-length': String(body.length),
    },
    body,
  });
}

describe('startReceiver', () => {
  it('stores what it is sent, and answers with the mark', async () => {
    const { receiver, dir } = await serve();
    const id = newRunId(0);
    expect((await put(receiver, id)).status).toBe(200);
    const answer = await append(receiver, id, 1, frameOf(1, 'hello\n'));
    expect(answer.headers).toMatchObject({ 'shipper-accepted': '1' });
    expect(readFileSync(join(dir, id, 'stdout.log'), 'utf8')).toBe('hello\n');
  });

  it('serves many senders at once', async () => {
    const { receiver, dir } = await serve();
    const ids = Array.from({ length: 50 }, () => newRunId(0));
    const text = 'x'.repeat(50_000) + '\n';
    await Promise.all(
      ids.map(async (id) => {
        await put(receiver, id);
        for (let seq = 1; seq <= 3; seq += 1) {
          expect((await append(receiver, id, seq, frameOf(seq, text))).status).toBe(200);
        }
      }),
    );
    const digest = createHash('sha256').update(text.repeat(3)).digest('hex');
    for (const id of ids) {
      const stored = readFileSync(join(dir, id, 'stdout.log'));
      expect(createHash('sha256').update(stored).digest('hex')).toBe(digest);
    }
  });

  it('asks for the token, and takes it', async () => {
    const { receiver, protocol } = await serve('right');
    const path = `/v1/runs/${newRunId(0)}`;
    const refused = await ask(receiver, 'GET', path);
    expect(refused).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(protocol.stats.requests).toBe(0);
    const headers = { authorization: 'Bearer right' };
    expect((await ask(receiver, 'GET', path, { headers })).status).toBe(404);
    expect((await ask(receiver, 'GET', '/healthz')).status).toBe(200);
  });

  it('wants to know the length of a body before it reads it', async () => {
    const { receiver } = await serve();
    const headers = { 'transfer-encoding': 'chunked' };
    const path = `/v1/runs/${newRunId(0)}`;
    expect((await ask(receiver, 'PUT', path, { headers, body: '{}' })).status).toBe(411);
  });

  it('refuses a body beyond the limit by its head, and still knows a duplicate', async () => {
    const { receiver } = await serve();
    const id = newRunId(0);
    await put(receiver, id);
    const large = Buffer.alloc(MAX_BATCH_BYTES + 1);
    expect((await append(receiver, id, 1, large)).status).toBe(413);
    await append(receiver, id, 1, frameOf(1, 'a\n'));
    expect(await append(receiver, id, 1, large)).toMatchObject({
      status: 200,
      headers: { 'shipper-accepted': '1' },
    });
  });

  it('answers HEAD without a body, and what it does not serve with 405 and 404', async () => {
    const { receiver } = await serve();
    const id = newRunId(0);
    await put(receiver, id);
    expect(await ask(receiver, 'HEAD', `/v1/runs/${id}`)).toMatchObject({ status: 200, body: '' });
    expect((await ask(receiver, 'DELETE', `/v1/runs/${id}`)).status).toBe(405);
    expect((await ask(receiver, 'GET', '/')).status).toBe(404);
  });

  it('survives clients that send garbage or go away in the middle', async () => {
    const { receiver } = await serve();
    for (const text of [
      'garbage\r\n\r\n',
      'PUT /v1/runs/x HTTP/1.1\r\ncontent-length: 99\r\n\r\nab',
    ]) {
      await new Promise<void>((resolve) => {
        const socket = connect(receiver.port, '127.0.0.1', () => socket.end(text));
        socket.on('error', () => undefined);
        socket.on('close', () => {
          resolve();
        });
        socket.resume();
      });
    }
    expect((await ask(receiver, 'GET', '/healthz')).status).toBe(200);
  });

  it('finishes the request under way when it is closed', async () => {
    const { receiver } = await serve();
    const id = newRunId(0);
    await put(receiver, id);
    const answer = append(receiver, id, 3, frameOf(3, 'held for its predecessor\n'));
    await expect.poll(async () => (await ask(receiver, 'GET', `/v1/runs/${id}`)).status).toBe(200);
    await receiver.close();
    expect((await answer).status).toBe(409);
  });

  it('says that a port is in use, and what to do', async () => {
    const { receiver, protocol } = await serve();
    const settings = { host: '127.0.0.1', port: receiver.port, token: () => undefined };
    await expect(startReceiver({ ...settings, protocol, log: silentLogger })).rejects.toMatchObject(
      {
        code: 'listen-failed',
        message: `cannot listen on 127.0.0.1:${String(receiver.port)}: the port is in use`,
        hint: 'choose another with --listen',
      },
    );
  });
});

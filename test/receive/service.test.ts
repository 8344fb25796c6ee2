import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAX_BATCH_BYTES } from '../../src/archive/append-request.js';
import { newRunId } from '../../src/core/run-id.js';
import type { ExchangeRequest } from '../../src/core/exchange.js';
import type { NativeProtocol } from '../../src/archive/protocol.js';
import { BodyBuffers } from '../../src/receive/body-buffers.js';
import { MemoryGate } from '../../src/receive/memory-gate.js';
import { serve, type ServiceParts } from '../../src/receive/service.js';
import { silentLogger } from '../../src/telemetry/log.js';
import { frameOf } from '../support/frames.js';
import { holdTimers, untilTimers } from '../support/held-timers.js';
import { append, appendHeaders, ask, put, RawClient, serveArchive } from '../support/served.js';

afterEach(() => {
  vi.useRealTimers();
});

/** Serves what a stand-in for the protocol answers; gives the port. */
async function serveWith(
  handle: NativeProtocol['handle'],
  parts: Partial<ServiceParts> = {},
): Promise<number> {
  const all: ServiceParts = {
    token: () => undefined,
    protocol: { handle } as unknown as NativeProtocol,
    log: silentLogger,
    gate: new MemoryGate(8 * MAX_BATCH_BYTES),
    buffers: new BodyBuffers(),
    isClosing: () => false,
    ...parts,
  };
  const server = createServer((message, response) => void serve(all, message, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** Answers with the body that it was given. */
const echo = (request: ExchangeRequest): ReturnType<NativeProtocol['handle']> =>
  Promise.resolve({
    kind: 'response',
    status: 200,
    headers: {},
    body: request.body ?? Buffer.from('no body'),
  });

function sized(bytes: number): { headers: Record<string, string>; body: Buffer } {
  return { headers: { 'content-length': String(bytes) }, body: Buffer.alloc(bytes, 'x') };
}

/** Tells how many have asked for room. */
class WatchedGate extends MemoryGate {
  asked = 0;

  override enter(bytes: number): Promise<void> {
    this.asked += 1;
    return super.enter(bytes);
  }
}

describe('a request', () => {
  it('needs the token where there is one, except for the health of the receiver', async () => {
    const { receiver, protocol } = await serveArchive('right');
    const path = `/v1/runs/${newRunId(0)}`;
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const refused = await ask(receiver.port, 'GET', path, { headers });
      expect(refused).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    }
    expect(protocol.stats.requests).toBe(0);
    const headers = { authorization: 'Bearer right' };
    expect((await ask(receiver.port, 'GET', path, { headers })).status).toBe(404);
    expect((await ask(receiver.port, 'GET', '/healthz')).status).toBe(200);
  });

  it('has to announce the length of its body', async () => {
    const { receiver } = await serveArchive();
    const headers = { 'transfer-encoding': 'chunked' };
    const path = `/v1/runs/${newRunId(0)}`;
    expect((await ask(receiver.port, 'PUT', path, { headers, body: '{}' })).status).toBe(411);
  });

  it('beyond the limit is refused by its head, unless it is a duplicate', async () => {
    const { receiver } = await serveArchive();
    const id = newRunId(0);
    await put(receiver.port, id);
    const large = Buffer.alloc(MAX_BATCH_BYTES + 1);
    expect((await append(receiver.port, id, 1, large)).status).toBe(413);
    await append(receiver.port, id, 1, frameOf(1, 'a\n'));
    expect(await append(receiver.port, id, 1, large)).toMatchObject({
      status: 200,
      headers: { 'shipper-accepted': '1', connection: 'close' },
    });
  });

  it('of the largest size is read whole', async () => {
    const port = await serveWith(echo);
    const send = sized(MAX_BATCH_BYTES);
    expect((await ask(port, 'PUT', '/', send)).body.length).toBe(MAX_BATCH_BYTES);
  });

  it('that is answered before it was read may be sent to its end first', async () => {
    holdTimers();
    const { receiver } = await serveArchive('right');
    const client = new RawClient(receiver.port);
    client.request('PUT', '/v1/x', { 'content-length': '4' }, Buffer.from('ab'));
    await client.until(/^HTTP\/1\.1 401 .*connection: close.*\}$/is);
    await untilTimers(1);
    client.send('cd');
    await client.closed;
  });

  it('that is answered early and never ends is cut off', async () => {
    holdTimers();
    const { receiver } = await serveArchive('right');
    const client = new RawClient(receiver.port);
    client.request('PUT', '/v1/x', { 'content-length': '4' }, Buffer.from('ab'));
    await untilTimers(1);
    await vi.advanceTimersByTimeAsync(2000);
    await client.closed;
    expect(client.text).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('follows another on its connection', async () => {
    const { receiver } = await serveArchive();
    const id = newRunId(0);
    await put(receiver.port, id);
    const client = new RawClient(receiver.port);
    for (const seq of [1, 2]) {
      const body = frameOf(seq, 'x\n');
      client.request('POST', `/v1/runs/${id}/streams/stdout`, appendHeaders(seq, body), body);
      await client.until(new RegExp(`shipper-accepted: ${String(seq)}`));
    }
    expect(client.text).not.toContain('connection: close');
  });

  it('by HEAD is answered without a body', async () => {
    const { receiver } = await serveArchive();
    const id = newRunId(0);
    await put(receiver.port, id);
    const reply = await ask(receiver.port, 'HEAD', `/v1/runs/${id}`);
    expect(reply).toMatchObject({ status: 200, body: '' });
    expect(Number(reply.headers['content-length'])).toBeGreaterThan(0);
  });

  it('by another method is refused with those that are served', async () => {
    const { receiver } = await serveArchive();
    expect(await ask(receiver.port, 'DELETE', `/v1/runs/${newRunId(0)}`)).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, PUT, POST' },
    });
    expect((await ask(receiver.port, 'GET', '/')).status).toBe(404);
  });

  it('that a defect stops is answered with 503, and logged', async () => {
    const logged: string[] = [];
    const log = { ...silentLogger, error: (_: object, text: string) => void logged.push(text) };
    const port = await serveWith(() => Promise.reject(new Error('a defect')), { log });
    expect(await ask(port, 'GET', '/x')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
    });
    expect(logged).toEqual(['cannot answer a request: a defect']);
  });

  it('that stops coming is answered with 408, and its connection is closed', async () => {
    holdTimers();
    const port = await serveWith(echo);
    const client = new RawClient(port);
    client.request('PUT', '/', { 'content-length': '9' }, Buffer.from('ab'));
    await untilTimers(1);
    await vi.advanceTimersByTimeAsync(30_000);
    await client.until(/^HTTP\/1\.1 408 /);
    await vi.advanceTimersByTimeAsync(2000);
    await client.closed;
  });
});

describe('bodies in memory', () => {
  it('wait unread for room, and come in when others are answered', async () => {
    const gate = new WatchedGate(10);
    const port = await serveWith(echo, { gate });
    const first = new RawClient(port);
    first.request('PUT', '/', { 'content-length': '8' }, Buffer.from('1234'));
    await expect.poll(() => gate.asked).toBe(1);
    const order: string[] = [];
    const second = ask(port, 'PUT', '/', sized(3)).then(({ body }) => order.push(body));
    await expect.poll(() => gate.asked).toBe(2);
    order.push((await ask(port, 'GET', '/')).body);
    first.send('5678');
    await first.until(/12345678$/);
    await second;
    expect(order).toEqual(['no body', 'xxx']);
  });

  it('take no room for a client that went away while it waited', async () => {
    const gate = new WatchedGate(10);
    const port = await serveWith(echo, { gate });
    await gate.enter(10);
    const waiting = new RawClient(port);
    waiting.request('PUT', '/', { 'content-length': '9' }, Buffer.from('12'));
    await expect.poll(() => gate.asked).toBe(2);
    waiting.socket.destroy();
    await waiting.closed;
    const next = ask(port, 'PUT', '/', sized(10));
    await expect.poll(() => gate.asked).toBe(3);
    gate.leave(10);
    expect((await next).status).toBe(200);
  });

  it('count for what they may unpack to', async () => {
    const gate = new WatchedGate(MAX_BATCH_BYTES + 5);
    const port = await serveWith(echo, { gate });
    await gate.enter(6);
    const order: string[] = [];
    const { headers, body } = sized(5);
    const gzip = { headers: { ...headers, 'content-encoding': 'gzip' }, body };
    const packed = ask(port, 'PUT', '/', gzip).then(() => order.push('packed'));
    await expect.poll(() => gate.asked).toBe(2);
    await ask(port, 'GET', '/').then(() => order.push('other'));
    gate.leave(6);
    await packed;
    expect(order).toEqual(['other', 'packed']);
  });
});

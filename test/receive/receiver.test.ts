import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newRunId } from '../../src/core/run-id.js';
import { startReceiver } from '../../src/receive/receiver.js';
import { silentLogger } from '../../src/telemetry/log.js';
import { frameOf } from '../support/frames.js';
import { holdTimers, untilTimers } from '../support/held-timers.js';
import { append, appendHeaders, ask, put, RawClient, serveArchive } from '../support/served.js';

afterEach(() => {
  vi.useRealTimers();
});

describe('startReceiver', () => {
  it('stores what it is sent, and answers with the mark', async () => {
    const { receiver, dir } = await serveArchive();
    const id = newRunId(0);
    expect((await put(receiver.port, id)).status).toBe(200);
    const answer = await append(receiver.port, id, 1, frameOf(1, 'hello\n'));
    expect(answer.headers).toMatchObject({ 'shipper-accepted': '1' });
    expect(readFileSync(join(dir, id, 'stdout.log'), 'utf8')).toBe('hello\n');
  });

  it('says where it listens', async () => {
    const { receiver, protocol } = await serveArchive();
    expect(receiver).toMatchObject({
      url: `http://127.0.0.1:${String(receiver.port)}`,
      host: '127.0.0.1',
    });
    const settings = { host: '::1', port: 0, token: () => undefined };
    const six = await startReceiver({ ...settings, protocol, log: silentLogger });
    expect(six.url).toBe(`http://[::1]:${String(six.port)}`);
    await six.close();
  });

  it('serves many senders at once', async () => {
    const { receiver, dir } = await serveArchive();
    const ids = Array.from({ length: 50 }, () => newRunId(0));
    const text = 'x'.repeat(50_000) + '\n';
    await Promise.all(
      ids.map(async (id) => {
        await put(receiver.port, id);
        for (let seq = 1; seq <= 3; seq += 1) {
          expect((await append(receiver.port, id, seq, frameOf(seq, text))).status).toBe(200);
        }
      }),
    );
    const digest = createHash('sha256').update(text.repeat(3)).digest('hex');
    for (const id of ids) {
      const stored = readFileSync(join(dir, id, 'stdout.log'));
      expect(createHash('sha256').update(stored).digest('hex')).toBe(digest);
    }
  });

  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['a bad length', 'PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n'],
    ['two lengths', 'PUT / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    [
      'two ways to end',
      'PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n',
    ],
  ])('answers %s with 400, and goes on', async (_, text) => {
    const { receiver } = await serveArchive();
    const client = new RawClient(receiver.port).send(text);
    await client.closed;
    expect(client.text).toMatch(/^HTTP\/1\.1 400 /);
    expect((await ask(receiver.port, 'GET', '/healthz')).status).toBe(200);
  });

  it('does not mind a client that goes away in the middle', async () => {
    const { receiver } = await serveArchive();
    const client = new RawClient(receiver.port);
    client.request('PUT', `/v1/runs/${newRunId(0)}`, { 'content-length': '9' }, Buffer.from('ab'));
    client.socket.end();
    await client.closed;
    expect((await ask(receiver.port, 'GET', '/healthz')).status).toBe(200);
  });
});

describe('startReceiver fails', () => {
  it('when a port is in use, and says what to do', async () => {
    const { receiver, protocol } = await serveArchive();
    const settings = { host: '127.0.0.1', port: receiver.port, token: () => undefined };
    await expect(startReceiver({ ...settings, protocol, log: silentLogger })).rejects.toMatchObject(
      {
        code: 'listen-failed',
        message: `cannot listen on 127.0.0.1:${String(receiver.port)}: the port is in use`,
        hint: 'choose another with --listen',
      },
    );
  });

  it.each([
    ['192.0.2.1', 'cannot listen on 192.0.2.1:0: this machine has no such address'],
    ['2001:db8::1', 'cannot listen on [2001:db8::1]:0: this machine has no such address'],
  ])('when the address %s is not of this machine', async (host, message) => {
    const { protocol } = await serveArchive();
    const settings = { host, port: 0, token: () => 'token' };
    await expect(startReceiver({ ...settings, protocol, log: silentLogger })).rejects.toMatchObject(
      { code: 'listen-failed', message },
    );
  });

  it('when others than this machine could write without a token', async () => {
    const { protocol } = await serveArchive();
    const settings = { host: '0.0.0.0', port: 0, token: () => undefined };
    await expect(startReceiver({ ...settings, protocol, log: silentLogger })).rejects.toMatchObject(
      { code: 'config', message: 'cannot listen on 0.0.0.0 without a token' },
    );
  });
});

describe('a receiver that is closed', () => {
  it('finishes the request under way, then ends its connection', async () => {
    const { receiver } = await serveArchive();
    const id = newRunId(0);
    await put(receiver.port, id);
    holdTimers();
    const body = frameOf(2, 'held for its predecessor\n');
    const client = new RawClient(receiver.port);
    client.request('POST', `/v1/runs/${id}/streams/stdout`, appendHeaders(2, body), body);
    await untilTimers(1);
    const closing = receiver.close();
    expect(await append(receiver.port, id, 1, frameOf(1, 'x\n')).catch(String)).toMatch(/ECONN/);
    await vi.advanceTimersByTimeAsync(1000);
    await closing;
    await client.closed;
    expect(client.text).toMatch(/^HTTP\/1\.1 409 .*connection: close/is);
  });

  it('ends connections that are idle', async () => {
    const { receiver } = await serveArchive();
    const client = new RawClient(receiver.port);
    client.request('GET', '/healthz', {}, Buffer.alloc(0));
    await client.until(/ok\n$/);
    await receiver.close();
    await client.closed;
  });

  it('does not wait for a sender that has stopped sending', async () => {
    const { receiver } = await serveArchive();
    holdTimers();
    const client = new RawClient(receiver.port);
    client.request('PUT', `/v1/runs/${newRunId(0)}`, { 'content-length': '9' }, Buffer.from('ab'));
    await untilTimers(1);
    const closing = receiver.close();
    await vi.advanceTimersByTimeAsync(5000);
    await closing;
    await client.closed;
    expect(client.text).toBe('');
  });
});

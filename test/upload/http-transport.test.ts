import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ExchangeRequest } from '../../src/core/exchange.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { HttpTransport } from '../../src/upload/http-transport.js';
import { TokenSource } from '../../src/upload/token.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

interface Server {
  readonly origin: string;
  /** Bodies that have arrived whole. */
  readonly bodies: string[];
}

async function serve(handler: Handler): Promise<Server> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      bodies.push(body);
      handler(request, response, body);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, bodies };
}

function transportTo(origin: string, tokens?: TokenSource): HttpTransport {
  const transport = new HttpTransport({
    origin,
    tokens: tokens ?? new TokenSource(nodeFileSystem, undefined, undefined),
    userAgent: 'shipper/0',
    connections: 2,
    timeouts: { connectMs: 2000, answerMs: 300, totalMs: 600 },
  });
  onTestFinished(() => transport.close());
  return transport;
}

function post(body: string): ExchangeRequest {
  return { method: 'POST', path: '/x', headers: { 'x-test': '1' }, body: Buffer.from(body) };
}

describe('HttpTransport', () => {
  it('carries path, headers and a body of known length, and brings the answer', async () => {
    const { origin, bodies } = await serve((request, response) => {
      const { method, url, headers } = request;
      response.writeHead(409, { 'shipper-accepted': '7' });
      response.end(JSON.stringify({ method, url, headers }));
    });
    const answer = await transportTo(origin).send(post('hello'));
    if (answer.kind !== 'response') throw new Error(answer.reason);
    expect(answer).toMatchObject({ status: 409, headers: { 'shipper-accepted': '7' } });
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      method: 'POST',
      url: '/x',
      headers: { 'x-test': '1', 'content-length': '5', 'user-agent': 'shipper/0' },
    });
    expect(bodies).toEqual(['hello']);
  });

  it('does not follow redirects, which would carry the token elsewhere', async () => {
    const { origin, bodies } = await serve((_, response) => {
      response.writeHead(307, { location: '/else' }).end();
    });
    expect(await transportTo(origin).send(post('x'))).toMatchObject({ status: 307 });
    expect(bodies).toHaveLength(1);
  });

  it.each<[string, Handler]>([
    ['resets before its answer', (request) => request.socket.resetAndDestroy()],
    ['never answers', () => undefined],
    [
      'stops in the middle of its answer',
      (_, response) => {
        response.writeHead(200, { 'content-length': '10' }).write('half');
      },
    ],
    [
      'breaks off in the middle of its answer',
      (request, response) => {
        response.writeHead(200, { 'content-length': '10' }).write('half', () => {
          request.socket.destroy();
        });
      },
    ],
    [
      'answers without end',
      (_, response) => {
        response.writeHead(200);
        const more = (): void => void response.write(Buffer.alloc(65_536), more);
        response.on('close', () => response.destroy());
        more();
      },
    ],
  ])('reports a failure, and sends nothing twice, when the server %s', async (_, handler) => {
    const { origin, bodies } = await serve(handler);
    const transport = transportTo(origin);
    const answer = await transport.send(post('once'));
    expect(answer).toMatchObject({ kind: 'failure', reason: expect.stringMatching(/./) as string });
    expect(bodies).toEqual(['once']);
  });

  it('names the code of a refused connection and of an unknown host', async () => {
    const { origin } = await serve(() => undefined);
    const unused = origin.replace(/\d+$/, '1');
    expect(await transportTo(unused).send(post('x'))).toMatchObject({ code: 'ECONNREFUSED' });
    const nowhere = await transportTo('http://no-such-host.invalid').send(post('x'));
    expect(nowhere).toMatchObject({ kind: 'failure', code: expect.stringMatching(/^E/) as string });
  });

  it('goes on after a failure with a new connection', async () => {
    let count = 0;
    const { origin } = await serve((request, response) => {
      count += 1;
      if (count === 1) request.socket.destroy();
      else response.end('ok');
    });
    const transport = transportTo(origin);
    expect((await transport.send(post('a'))).kind).toBe('failure');
    expect((await transport.send(post('b'))).kind).toBe('response');
  });

  it('loses no request to a server that closes each connection without saying so', async () => {
    const { origin, bodies } = await serve((request, response) => {
      response.end('ok', () => request.socket.end());
    });
    const transport = transportTo(origin);
    let failures = 0;
    for (let count = 0; count < 50; count += 1) {
      const answer = await transport.send(post(String(count)));
      if (answer.kind === 'failure') failures += 1;
    }
    expect(failures).toBe(0);
    expect(bodies).toHaveLength(50);
  });

  it('sends the token, reads it anew when it is told to, and never shows it', async () => {
    const file = join(temporaryDirectory(), 'token');
    writeFileSync(file, 'old-SECRET');
    const tokens = new TokenSource(nodeFileSystem, file, undefined);
    await tokens.read();
    const seen: (string | undefined)[] = [];
    const { origin } = await serve((request, response) => {
      seen.push(request.headers.authorization);
      if (seen.length === 3) request.socket.destroy();
      else response.end();
    });
    const transport = transportTo(origin, tokens);
    await transport.send(post('x'));
    writeFileSync(file, 'new-SECRET');
    await transport.renew();
    await transport.send(post('x'));
    const failed = await transport.send(post('x'));
    expect(seen.slice(0, 2)).toEqual(['Bearer old-SECRET', 'Bearer new-SECRET']);
    expect(JSON.stringify(failed)).not.toContain('SECRET');
  });

  it('ends what is under way when it is closed', async () => {
    const { origin } = await serve(() => undefined);
    const transport = transportTo(origin);
    const answer = transport.send(post('x'));
    await transport.close();
    expect((await answer).kind).toBe('failure');
  });
});

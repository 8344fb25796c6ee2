import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server as NetServer,
} from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Answer, ExchangeRequest } from '../../src/core/exchange.js';
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

/** Starts any server on a free loopback port; it ends with the test. */
async function listening(server: NetServer): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
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
  const origin = await listening(server);
  onTestFinished(() => {
    server.closeAllConnections();
  });
  return { origin, bodies };
}

function transportTo(origin: string, tokens?: TokenSource, connections = 2): HttpTransport {
  const transport = new HttpTransport({
    origin,
    tokens: tokens ?? new TokenSource(nodeFileSystem, undefined, undefined),
    userAgent: 'shipper/0',
    connections,
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

  it('brings a web page that answers 200 as what it is, and an early refusal too', async () => {
    const page = await serve((_, response) => response.end('<html>welcome</html>'));
    expect(await transportTo(page.origin).send(post('x'))).toMatchObject({
      kind: 'response',
      status: 200,
      body: Buffer.from('<html>welcome</html>'),
    });
    // Answers before the body has arrived, and closes.
    const early = createServer((request, response) => {
      response.writeHead(413, { connection: 'close' }).end();
      request.resume();
    });
    const answer = await transportTo(await listening(early)).send(post('x'.repeat(5_000_000)));
    expect(answer).toMatchObject({ kind: 'response', status: 413 });
  });

  it('reports a reset in the middle of the body as a failure', async () => {
    let connections = 0;
    const server = createTcpServer((socket) => {
      connections += 1;
      socket.once('data', () => socket.resetAndDestroy());
    });
    const origin = await listening(server);
    const answer = await transportTo(origin).send(post('x'.repeat(5_000_000)));
    expect(answer).toMatchObject({ kind: 'failure' });
    expect(connections).toBe(1);
  });

  it.each([
    ['garbage', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x-filler: y\r\n'.repeat(100_000)}`],
    ['a length that is none', 'HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n'],
  ])('reports %s as a failure', async (_, text) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.write(text);
    });
    const answer = await transportTo(await listening(server)).send(post('x'));
    expect(answer).toMatchObject({ kind: 'failure', code: expect.stringMatching(/./) as string });
  });

  it('says how long it has waited for an answer that drips', async () => {
    const { origin } = await serve((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 50);
      response.on('close', () => {
        clearInterval(timer);
      });
    });
    expect(await transportTo(origin).send(post('x'))).toMatchObject({
      kind: 'failure',
      code: 'ETIMEDOUT',
      reason: 'no whole answer within 0.6 s (ETIMEDOUT)',
    });
  });

  it('names a port that does not speak TLS', async () => {
    const { origin } = await serve((_, response) => response.end());
    const answer = await transportTo(origin.replace('http:', 'https:')).send(post('x'));
    expect(answer).toMatchObject({ kind: 'failure', code: 'ERR_SSL_WRONG_VERSION_NUMBER' });
  });

  it('lets a failed request cost that request only', async () => {
    const answers: (() => void)[] = [];
    const { origin } = await serve((request, response, body) => {
      if (body === 'fails') request.socket.destroy();
      else answers.push(() => response.end());
    });
    const transport = transportTo(origin);
    const slow = transport.send(post('slow'));
    await expect.poll(() => answers.length).toBe(1);
    expect((await transport.send(post('fails'))).kind).toBe('failure');
    answers[0]?.();
    expect((await slow).kind).toBe('response');
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

  it.each([1, 2])(
    'loses no request of %i at once to a server that closes each connection without saying so',
    async (senders) => {
      const { origin, bodies } = await serve((request, response) => {
        response.end('ok', () => request.socket.end());
      });
      const transport = transportTo(origin, undefined, senders);
      const sendSome = async (): Promise<Answer[]> => {
        const answers: Answer[] = [];
        for (let count = 0; count < 50; count += 1) answers.push(await transport.send(post('x')));
        return answers;
      };
      const answers = (await Promise.all(Array.from({ length: senders }, sendSome))).flat();
      expect(answers.filter(({ kind }) => kind === 'failure')).toEqual([]);
      expect(bodies).toHaveLength(50 * senders);
    },
  );

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
    expect(await transport.renew()).toBe(false);
    writeFileSync(file, 'new-SECRET');
    expect(await transport.renew()).toBe(true);
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
    const ended = { kind: 'failure', reason: 'the upload has ended' };
    expect(await answer).toMatchObject(ended);
    expect(await transport.send(post('x'))).toMatchObject(ended);
  });

  it('keeps the token out of a failure that is about the token', async () => {
    const tokens = new TokenSource(nodeFileSystem, undefined, 'SECRET');
    await tokens.read();
    Object.defineProperty(tokens, 'token', { value: 'SECRET\nwith a line break' });
    const { origin } = await serve(() => undefined);
    const answer = await transportTo(origin, tokens).send(post('x'));
    expect(answer.kind).toBe('failure');
    expect(JSON.stringify(answer)).not.toContain('SECRET');
  });
});

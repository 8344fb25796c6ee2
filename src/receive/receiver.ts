import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MAX_BATCH_BYTES } from '../archive/append-request.js';
import { problem } from '../archive/problem.js';
import type { NativeProtocol } from '../archive/protocol.js';
import { ShipperError, reasonOf, systemCode } from '../core/errors.js';
import type { ExchangeRequest, ExchangeResponse } from '../core/exchange.js';
import { MIB, SECOND_MS } from '../core/units.js';
import type { Logger } from '../telemetry/log.js';
import { isAuthorized } from './authorization.js';
import { readBody } from './body-reader.js';
import { MemoryGate } from './memory-gate.js';

/** Bodies in memory at once, over all connections. */
const BODIES_MAX_BYTES = 32 * MIB;

/** Larger reads than the usual 16 KiB: a batch has megabytes. */
const SOCKET_BUFFER_BYTES: number = MIB;

/**
 * Well above the 2 s for which clients of ours keep an idle connection, so that they close it
 * first.
 */
const KEEP_ALIVE_MS = 15 * SECOND_MS;

/** For a head, and between two parts of a body: a slow client is served, a silent one is not. */
const IDLE_LIMIT_MS = 30 * SECOND_MS;

export interface ReceiverSettings {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Undefined: everybody may write. */
  readonly token: () => string | undefined;
  readonly protocol: NativeProtocol;
  readonly log: Logger;
}

export interface Receiver {
  /** `http://127.0.0.1:7790` */
  readonly url: string;
  readonly port: number;
  /** Takes no new request, finishes those under way, and closes the connections. */
  close(): Promise<void>;
}

/**
 * Serves the native protocol over HTTP: this file knows sockets, heads, bodies and credentials, and
 * hands each request as a value to the protocol.
 *
 * @throws ShipperError `listen-failed`
 */
export async function startReceiver(settings: ReceiverSettings): Promise<Receiver> {
  const gate = new MemoryGate(BODIES_MAX_BYTES);
  const server = createServer(
    {
      highWaterMark: SOCKET_BUFFER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: IDLE_LIMIT_MS,
      // A large body over a slow line may take long; what may not is a pause in it.
      requestTimeout: 0,
    },
    (message, response) => {
      void serve(settings, gate, message, response);
    },
  );
  await listen(server, settings.host, settings.port);
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return { url: `http://${host}:${String(port)}`, port, close: () => close(server) };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(listenFailure(host, port, error));
    });
    server.listen({ host, port }, resolve);
  });
}

function listenFailure(host: string, port: number, error: Error): ShipperError {
  const isTaken = systemCode(error) === 'EADDRINUSE';
  const why = isTaken ? 'the port is in use' : reasonOf(error);
  return new ShipperError('listen-failed', `cannot listen on ${host}:${String(port)}: ${why}`, {
    hint: 'choose another with --listen',
    cause: error,
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeIdleConnections();
  });
}

async function serve(
  settings: ReceiverSettings,
  gate: MemoryGate,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Who goes away before its answer gets none; it will ask again.
  response.on('error', () => undefined);
  try {
    const answer = await answerTo(settings, gate, message);
    const { status, headers, body } = answer;
    // A body that was not read would be taken for the next request.
    const rest = message.complete ? {} : { connection: 'close' };
    response.writeHead(status, { ...headers, ...rest, 'content-length': body.length });
    response.end(message.method === 'HEAD' ? undefined : body);
  } catch (error) {
    settings.log.error({}, `cannot answer a request: ${reasonOf(error)}`);
    response.writeHead(503, { connection: 'close', 'retry-after': '1' }).end();
  }
}

async function answerTo(
  { token, protocol }: ReceiverSettings,
  gate: MemoryGate,
  message: IncomingMessage,
): Promise<ExchangeResponse> {
  if (message.url === '/healthz') return { kind: 'response', status: 200, headers: {}, body: OK };
  if (!isAuthorized(message.headers.authorization, token())) {
    return problem('unauthorized', 'a bearer token is needed', { 'www-authenticate': 'Bearer' });
  }
  const { method = '' } = message;
  if (!isKnown(method)) return problem('method-not-allowed', 'GET, HEAD, PUT and POST are served');
  const request = { method, path: message.url ?? '', headers: headersOf(message) };
  if (method === 'GET' || method === 'HEAD')
    return protocol.handle({ ...request, body: undefined });
  const length = message.headers['content-length'];
  if (length === undefined) return problem('length-required', 'a body has to announce its length');
  // The protocol refuses it by its head, unless it is a duplicate.
  if (Number(length) > MAX_BATCH_BYTES) return protocol.handle({ ...request, body: undefined });
  return withBody(request, message, { protocol, gate, lengthBytes: Number(length) });
}

const OK = Buffer.from('ok\n');

async function withBody(
  request: Omit<ExchangeRequest, 'body'>,
  message: IncomingMessage,
  {
    protocol,
    gate,
    lengthBytes,
  }: { protocol: NativeProtocol; gate: MemoryGate; lengthBytes: number },
): Promise<ExchangeResponse> {
  await gate.enter(lengthBytes);
  try {
    const reading = await readBody(message, lengthBytes, IDLE_LIMIT_MS);
    switch (reading.kind) {
      case 'body':
        return await protocol.handle({ ...request, body: reading.body });
      case 'stalled':
        return problem('request-timeout', 'the body did not come');
      case 'broken':
        return problem('bad-request', 'the body is not as long as announced');
    }
  } finally {
    gate.leave(lengthBytes);
  }
}

function isKnown(method: string): method is ExchangeRequest['method'] {
  return ['GET', 'HEAD', 'PUT', 'POST'].includes(method);
}

function headersOf(message: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { MAX_BATCH_BYTES } from '../archive/append-request.js';
import { problem } from '../archive/problem.js';
import type { NativeProtocol } from '../archive/protocol.js';
import { reasonOf } from '../core/errors.js';
import { singleValues, type ExchangeRequest, type ExchangeResponse } from '../core/exchange.js';
import { SECOND_MS } from '../core/units.js';
import type { Logger } from '../telemetry/log.js';
import { isAuthorized } from './authorization.js';
import type { BodyBuffers } from './body-buffers.js';
import { discardRest, readBody } from './body-reader.js';
import type { MemoryGate } from './memory-gate.js';

/** For a head, and between two parts of a body: a slow client is served, a silent one is not. */
export const IDLE_LIMIT_MS: number = 30 * SECOND_MS;

/** How long a client that was answered early may go on sending, before the connection is closed. */
const LINGER_MS = 2 * SECOND_MS;

export interface ServiceParts {
  /** Undefined: everybody may write. */
  readonly token: () => string | undefined;
  readonly protocol: NativeProtocol;
  readonly log: Logger;
  readonly gate: MemoryGate;
  readonly buffers: BodyBuffers;
  readonly isClosing: () => boolean;
}

/**
 * One request over HTTP: heads, bodies and credentials are known here; what a request means is the
 * protocol's. Never rejects.
 */
export async function serve(
  parts: ServiceParts,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Who goes away before its answer gets none; it will ask again.
  response.on('error', () => undefined);
  message.on('error', () => undefined);
  const answer = await answerTo(parts, message).catch((error: unknown) => {
    parts.log.error({}, `cannot answer a request: ${reasonOf(error)}`);
    return problem('unavailable', 'the request could not be handled', { 'retry-after': '1' });
  });
  await send(message, response, { answer, isLast: parts.isClosing() });
}

async function send(
  message: IncomingMessage,
  response: ServerResponse,
  { answer, isLast }: { answer: ExchangeResponse; isLast: boolean },
): Promise<void> {
  const { status, headers, body } = answer;
  const isRead = message.complete;
  // What follows a body that was not read would be taken for the next request.
  const connection = isRead && !isLast ? {} : { connection: 'close' };
  response.writeHead(status, { ...headers, ...connection, 'content-length': body.length });
  if (message.method === 'HEAD' || body.length === 0) response.flushHeaders();
  else response.write(body);
  // Closed while the client still sends, the connection would be reset, and the answer be lost.
  if (!isRead) await discardRest(message, LINGER_MS);
  response.end();
}

async function answerTo(parts: ServiceParts, message: IncomingMessage): Promise<ExchangeResponse> {
  const { token, protocol } = parts;
  if (message.url === '/healthz') return { kind: 'response', status: 200, headers: {}, body: OK };
  if (!isAuthorized(message.headers.authorization, token())) {
    return problem('unauthorized', 'a bearer token is needed', { 'www-authenticate': 'Bearer' });
  }
  const { method = '' } = message;
  if (!isServed(method)) {
    const allow = SERVED_METHODS.join(', ');
    return problem('method-not-allowed', `only ${allow} are served`, { allow });
  }
  const request = { method, path: message.url ?? '', headers: singleValues(message.headers) };
  const isRead = method === 'GET' || method === 'HEAD';
  if (isRead) return protocol.handle({ ...request, body: undefined });
  const length = request.headers['content-length'];
  if (length === undefined) return problem('length-required', 'a body has to announce its length');
  // The protocol refuses it by its head, unless it is a duplicate.
  if (Number(length) > MAX_BATCH_BYTES) return protocol.handle({ ...request, body: undefined });
  return withBody(parts, request, message);
}

const OK = Buffer.from('ok\n');

async function withBody(
  { protocol, gate, buffers }: ServiceParts,
  request: Omit<ExchangeRequest, 'body'>,
  message: IncomingMessage,
): Promise<ExchangeResponse> {
  const lengthBytes = Number(request.headers['content-length']);
  const isPacked = (request.headers['content-encoding'] ?? 'identity') !== 'identity';
  // What it unpacks to is in memory, too, and may be as much as the limit.
  const memoryBytes = lengthBytes + (isPacked ? MAX_BATCH_BYTES : 0);
  await gate.enter(memoryBytes);
  const body = buffers.take(lengthBytes);
  try {
    const reading = await readBody(message, body, IDLE_LIMIT_MS);
    switch (reading.kind) {
      case 'whole':
        return await protocol.handle({ ...request, body });
      case 'stalled':
        return problem('request-timeout', 'the body did not come');
      case 'broken':
        return problem('bad-request', 'the body is not as long as announced');
    }
  } finally {
    buffers.giveBack(body);
    gate.leave(memoryBytes);
  }
}

const SERVED_METHODS = ['GET', 'HEAD', 'PUT', 'POST'] as const;

function isServed(method: string): method is ExchangeRequest['method'] {
  return SERVED_METHODS.some((served) => served === method);
}

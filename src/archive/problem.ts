import type { ExchangeResponse } from '../core/exchange.js';

/** The reasons of a refusal, by their names in the protocol; each has one status. */
const STATUS_BY_PROBLEM = {
  'bad-request': 400,
  'unsupported-version': 400,
  'digest-mismatch': 400,
  unauthorized: 401,
  'run-unknown': 404,
  'not-found': 404,
  'method-not-allowed': 405,
  'request-timeout': 408,
  gap: 409,
  'content-conflict': 409,
  'finish-conflict': 409,
  fenced: 409,
  'run-complete': 409,
  'length-required': 411,
  'too-large': 413,
  'unsupported-encoding': 415,
  malformed: 422,
  unavailable: 503,
  'storage-failed': 507,
} as const;

export type ProblemName = keyof typeof STATUS_BY_PROBLEM;

/** A problem document (RFC 9457). `type` is `urn:shipper:problem:<name>`. */
export function problem(
  name: ProblemName,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): ExchangeResponse {
  const status = STATUS_BY_PROBLEM[name];
  return {
    kind: 'response',
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: Buffer.from(
      JSON.stringify({ type: `urn:shipper:problem:${name}`, title: name, status, detail }),
    ),
  };
}

export function json(
  content: object,
  headers: Readonly<Record<string, string>> = {},
): ExchangeResponse {
  return {
    kind: 'response',
    status: 200,
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(content)),
  };
}

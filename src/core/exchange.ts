/**
 * One request and its answer, as values: what a sink encodes, what a transport carries, and what
 * the protocol answers. HTTP-shaped, but nothing here knows sockets.
 */
export interface ExchangeRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST';
  /** Absolute path, query included; relative to the origin of the destination. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** One buffer, so that its length is known: chunked bodies draw 411s. */
  readonly body: Buffer | undefined;
}

export interface ExchangeResponse {
  readonly kind: 'response';
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * No answer arrived whole. Whether the other side took the request is unknown, unless the
 * connection was never made.
 */
export interface ExchangeFailure {
  readonly kind: 'failure';
  /** A system or library error code, such as ECONNREFUSED. */
  readonly code: string;
  readonly reason: string;
}

export type Answer = ExchangeResponse | ExchangeFailure;

/** Headers as Node's HTTP libraries give them, with one value each: repeated ones are joined. */
export function singleValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const single: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) single[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return single;
}

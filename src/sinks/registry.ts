import { resolve } from 'node:path';
import { ShipperError } from '../core/errors.js';
import { shipperSink } from './shipper.js';
import type { Sink } from './sink.js';

interface Dialect {
  readonly example: string;
  readonly create: (url: string) => Sink;
}

/** One line a scheme: what a new destination adds here is all that the rest has to know of it. */
const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['dir', { example: 'dir:/var/log/archive', create: dirSink }],
  ['shipper+http', { example: 'shipper+http://127.0.0.1:7790', create: nativeSink }],
  ['shipper+https', { example: 'shipper+https://logs.example.com', create: nativeSink }],
]);

/**
 * The destination that a `--to` names.
 *
 * @throws ShipperError `config`: the scheme is unknown, the URL does not parse, or it holds
 *   credentials
 */
export function parseSink(url: string): Sink {
  const scheme = /^([a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase();
  const dialect = DIALECTS.get(scheme ?? '');
  if (dialect !== undefined) return dialect.create(url);
  const known = [...DIALECTS.values()].map(({ example }) => example);
  throw badUrl(url, 'the scheme is unknown', `known are ${known.join(', ')}`);
}

/** A directory on this machine, in the archive layout: for people without a backend. */
function dirSink(url: string): Sink {
  const path = url.slice('dir:'.length).replace(/^\/\//, '');
  if (path === '')
    throw badUrl(url, 'the directory is missing', 'for example dir:/var/log/archive');
  const absolute = resolve(path);
  return shipperSink(`dir:${absolute}`, { transport: 'dir', path: absolute });
}

function nativeSink(url: string): Sink {
  const parsed = parseHttp(url);
  const prefix = parsed.pathname.replace(/\/+$/, '');
  return shipperSink(
    `shipper+${parsed.origin}${prefix}`,
    { transport: 'http', origin: parsed.origin },
    prefix,
  );
}

function parseHttp(url: string): URL {
  // A scheme that URL does not know has no origin, so the plain one is parsed.
  const plain = url.replace(/^[a-z]+\+/i, '');
  const parsed = URL.canParse(plain) ? new URL(plain) : null;
  if (parsed === null || parsed.hostname === '') {
    throw badUrl(url, 'it is not a URL', 'for example shipper+http://127.0.0.1:7790');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw badUrl(url, 'it holds credentials', 'put the token into a file for --token-file');
  }
  if (parsed.search !== '' || parsed.hash !== '') {
    throw badUrl(url, 'it has a query', 'give scheme, host, port and path only');
  }
  return parsed;
}

function badUrl(url: string, why: string, hint: string): ShipperError {
  return new ShipperError('config', `cannot deliver to ${mentionable(url)}: ${why}`, { hint });
}

/** What may be shown of a URL that is wrong: its scheme, and its host where that is certain. */
function mentionable(url: string): string {
  const scheme = /^[a-z0-9+.-]+:/i.exec(url)?.[0];
  if (scheme === undefined) return 'a destination without a scheme';
  const plain = `http:${url.slice(scheme.length)}`;
  const host = URL.canParse(plain) ? new URL(plain).host : '';
  return host === '' ? scheme : `${scheme}//${host}`;
}

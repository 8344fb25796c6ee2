import { resolve } from 'node:path';
import { ShipperError } from '../core/errors.js';
import { shipperSink } from './shipper.js';
import type { Sink } from './sink.js';

interface Dialect {
  readonly example: string;
  readonly create: (url: string) => Sink;
}

/** One line a scheme: what a new destination adds here is all that the rest has to know of it. */
const DIALECTS: Readonly<Record<string, Dialect>> = {
  dir: { example: 'dir:/var/log/archive', create: dirSink },
  'shipper+http': { example: 'shipper+http://127.0.0.1:7790', create: nativeSink },
  'shipper+https': { example: 'shipper+https://logs.example.com', create: nativeSink },
};

/**
 * The destination that a `--to` names.
 *
 * @throws ShipperError `config`: the scheme is unknown, the URL does not parse, or it holds credentials
 */
export function parseSink(url: string): Sink {
  const scheme = /^([a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase() ?? '';
  const dialect = DIALECTS[scheme];
  if (dialect === undefined) {
    const known = Object.values(DIALECTS).map(({ example }) => example);
    throw new ShipperError(
      'config',
      `cannot deliver to ${withoutCredentials(url)}: unknown scheme`,
      {
        hint: `known are ${known.join(', ')}`,
      },
    );
  }
  return dialect.create(url);
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
  return parsed;
}

function badUrl(url: string, why: string, hint: string): ShipperError {
  return new ShipperError('config', `cannot deliver to ${withoutCredentials(url)}: ${why}`, {
    hint,
  });
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//');
}

import { ShipperError } from '../core/errors.js';

export interface ListenAddress {
  /** A name or an address, IPv6 without its brackets. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

const PORT_MAX = 65_535;

/** `127.0.0.1:7790`, `localhost:0`, `[::1]:7790`. @throws ShipperError `usage` */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host !== undefined && port <= PORT_MAX) return { host, port };
  throw new ShipperError('usage', `option --listen: "${text}" is not host:port`, {
    hint: 'for example --listen 127.0.0.1:7790',
  });
}

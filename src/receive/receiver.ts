import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NativeProtocol } from '../archive/protocol.js';
import { ShipperError, reasonOf, systemCode } from '../core/errors.js';
import { MIB, SECOND_MS } from '../core/units.js';
import type { Logger } from '../telemetry/log.js';
import { BodyBuffers } from './body-buffers.js';
import { MemoryGate } from './memory-gate.js';
import { refuseOpenAccess } from './open-access.js';
import { serve, IDLE_LIMIT_MS, type ServiceParts } from './service.js';

/** Bodies in memory at once, over all connections: eight of the largest. */
const BODIES_MAX_BYTES = 64 * MIB;

/**
 * Beside the files of the runs that are open, and within the 1024 descriptors that are usual. Who
 * finds no room is closed at once, and comes again.
 */
const MAX_CONNECTIONS = 512;

/** Well above the 2 s for which clients of ours keep an idle connection: they close it first. */
const KEEP_ALIVE_MS = 15 * SECOND_MS;

/** A range that waits for its predecessor is answered within 1 s; the rest is for a slow disk. */
const CLOSE_LIMIT_MS = 5 * SECOND_MS;

export interface ReceiverSettings {
  /** A name or an address, IPv6 without brackets. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Undefined: everybody on this machine may write. */
  readonly token: () => string | undefined;
  readonly protocol: NativeProtocol;
  readonly log: Logger;
}

export interface Receiver {
  /** `http://127.0.0.1:7790` */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /**
   * Takes no new request, finishes those under way, and closes the connections; after 5 s also
   * those of senders that have still not sent all of a request.
   */
  close(): Promise<void>;
}

/**
 * Serves the native protocol over HTTP until it is closed.
 *
 * @throws ShipperError `config` when others than this machine could write without a token,
 *   `listen-failed`; nothing listens then
 */
export async function startReceiver(settings: ReceiverSettings): Promise<Receiver> {
  const { host, port: wanted, token, log } = settings;
  refuseOpenAccess(host, token());
  const gate = new MemoryGate(BODIES_MAX_BYTES);
  const buffers = new BodyBuffers();
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: IDLE_LIMIT_MS,
    // A large body over a slow line may take long; what may not is a pause in it.
    requestTimeout: 0,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const parts: ServiceParts = { ...settings, gate, buffers, isClosing: () => !server.listening };
  server.on('request', (message, response) => {
    void serve(parts, message, response);
  });
  await listen(server, host, wanted);
  server.on('error', (error) => {
    log.error({}, `cannot accept a connection: ${reasonOf(error)}`);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://${authority(host, port)}`, host, port, close: () => close(server) };
}

function authority(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(listenFailure(host, port, error));
    };
    server.once('error', fail);
    server.listen({ host, port }, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

const WHY_BY_CODE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
};

function listenFailure(host: string, port: number, error: Error): ShipperError {
  const why = WHY_BY_CODE[systemCode(error) ?? ''] ?? reasonOf(error);
  return new ShipperError('listen-failed', `cannot listen on ${authority(host, port)}: ${why}`, {
    hint: 'choose another with --listen',
    cause: error,
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => {
      server.closeAllConnections();
    }, CLOSE_LIMIT_MS);
    server.close(() => {
      clearTimeout(limit);
      resolve();
    });
    server.closeIdleConnections();
  });
}

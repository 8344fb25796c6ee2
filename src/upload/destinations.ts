import type { Clock } from '../core/clock.js';
import type { FileSystem } from '../disk/file-system.js';
import { parseSink } from '../sinks/registry.js';
import type { Endpoint } from '../sinks/sink.js';
import type { Logger } from '../telemetry/log.js';
import { Destination } from './destination.js';
import { DirTransport } from './dir-transport.js';
import { HttpTransport } from './http-transport.js';
import type { TokenSource } from './token.js';
import type { Transport } from './transport.js';

export interface DestinationsParts {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly tokens: TokenSource;
  readonly userAgent: string;
  readonly maxInFlight: number;
}

/**
 * The destinations of this process by URL: runs that go to the same one share its state of trouble.
 */
export class Destinations {
  readonly #parts: DestinationsParts;
  readonly #byId = new Map<string, Destination>();

  constructor(parts: DestinationsParts) {
    this.#parts = parts;
  }

  /** @throws ShipperError `config` for a URL that names no destination */
  get(url: string): Destination {
    const sink = parseSink(url);
    let destination = this.#byId.get(sink.id);
    if (destination === undefined) {
      const transport = this.#transport(sink.endpoint);
      destination = new Destination({ ...this.#parts, sink, transport });
      this.#byId.set(sink.id, destination);
    }
    return destination;
  }

  all(): readonly Destination[] {
    return [...this.#byId.values()];
  }

  #transport(endpoint: Endpoint): Transport {
    const { fs, log, tokens, userAgent, maxInFlight } = this.#parts;
    switch (endpoint.transport) {
      case 'dir':
        return new DirTransport({ fs, log }, endpoint.path);
      case 'http':
        return new HttpTransport({
          origin: endpoint.origin,
          tokens,
          userAgent,
          connections: maxInFlight,
        });
    }
  }
}

import { randomInt } from 'node:crypto';
import { systemClock } from '../core/clock.js';
import { MAX_BODY_BYTES, MAX_HEADER_BYTES } from '../frames/frame.js';
import { nodeFileSystem } from '../disk/node-file-system.js';
import { removeLeftovers } from '../spool/create-run.js';
import { spoolLayout } from '../spool/layout.js';
import { livenessOf } from '../spool/process-identity.js';
import type { RunRecord } from '../spool/run-record.js';
import type { Logger } from '../telemetry/log.js';
import { BufferPool } from './buffer-pool.js';
import { Claims, type Skipped } from './claims.js';
import type { Destination, DestinationStats } from './destination.js';
import { Destinations } from './destinations.js';
import { TokenSource } from './token.js';
import { totalStats, Uploader, type Ending, type UploadEnd } from './uploader.js';
import { Wakeup } from './wakeup.js';
import { watchBells } from './watcher.js';

/** All that a delivery has to know, as plain data: it crosses a thread boundary. */
export interface DeliverySettings {
  readonly spoolRoot: string;
  /** Undefined: every run in the spool. */
  readonly runId: string | undefined;
  /** URLs; empty: where each run says. */
  readonly to: readonly string[];
  readonly tokenFile: string | undefined;
  /** A token from the environment. */
  readonly token: string | undefined;
  readonly userAgent: string;
  readonly cycleDeadlineMs: number;
  readonly maxInFlight: number;
  readonly batchMaxBytes: number;
}

export interface DeliveryReport {
  readonly end: UploadEnd;
  readonly stats: DestinationStats;
  /** A destination refused the credentials to the last. */
  readonly credentialsRefused: boolean;
  /** The newest trouble in words, if there is any left. */
  readonly lastError: string | undefined;
  /** Runs that were left to others, or that nobody can deliver, by id. */
  readonly skipped: readonly (readonly [string, Skipped])[];
}

/** The uploader of a spool, put together for the real machine. Made to run once. */
export class Delivery {
  readonly #settings: DeliverySettings;
  readonly #tokens: TokenSource;
  readonly #destinations: Destinations;
  readonly #wakeup = new Wakeup();
  readonly #claims: Claims;
  readonly #uploader: Uploader;

  constructor(settings: DeliverySettings, log: Logger) {
    this.#settings = settings;
    const { tokenFile, token, userAgent, maxInFlight, batchMaxBytes, cycleDeadlineMs } = settings;
    this.#tokens = new TokenSource(nodeFileSystem, tokenFile, token);
    const machine = { fs: nodeFileSystem, clock: systemClock, log };
    this.#destinations = new Destinations({
      ...machine,
      random: () => randomInt(2 ** 32) / 2 ** 32,
      tokens: this.#tokens,
      userAgent,
      maxInFlight,
    });
    this.#claims = new Claims({
      ...machine,
      layout: spoolLayout(settings.spoolRoot),
      pool: new BufferPool(Math.max(batchMaxBytes, MAX_BODY_BYTES + MAX_HEADER_BYTES)),
      batchMaxBytes,
      onlyRun: settings.runId,
      destinationsOf: (record) => this.#destinationsOf(record),
    });
    this.#uploader = new Uploader({
      clock: systemClock,
      claims: this.#claims,
      wakeup: this.#wakeup,
      destinations: () => this.#destinations.all(),
      cycleDeadlineMs,
    });
  }

  /** @throws ShipperError `config` for a destination or a token file that cannot be used */
  async run(ending: Ending): Promise<DeliveryReport> {
    await this.#tokens.read();
    for (const url of this.#settings.to) this.#destinations.get(url);
    const layout = spoolLayout(this.#settings.spoolRoot);
    if (this.#settings.runId === undefined) {
      await removeLeftovers(nodeFileSystem, layout, (writer) => livenessOf(writer) === 'dead');
    }
    const watcher = watchBells(layout, this.#settings.runId, (runId) => {
      this.#wakeup.ring(runId);
    });
    try {
      return this.#report(await this.#uploader.run(ending));
    } finally {
      await watcher.close();
    }
  }

  stop(): void {
    this.#uploader.stop();
  }

  get stats(): DestinationStats {
    return totalStats(this.#destinations.all());
  }

  get lastError(): string | undefined {
    return this.#destinations.all().find(({ lastError }) => lastError !== undefined)?.lastError;
  }

  #destinationsOf(record: RunRecord): readonly Destination[] {
    const urls = this.#settings.to.length > 0 ? this.#settings.to : record.destinations;
    return [...new Set(urls.map((url) => this.#destinations.get(url)))];
  }

  #report(end: UploadEnd): DeliveryReport {
    const all = this.#destinations.all();
    return {
      end,
      stats: this.stats,
      credentialsRefused: all.some(({ refusesCredentials }) => refusesCredentials),
      lastError: this.lastError,
      skipped: [...this.#claims.skipped],
    };
  }
}

import { systemClock } from '../../src/core/clock.js';
import type { Answer, ExchangeRequest } from '../../src/core/exchange.js';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { parseSink } from '../../src/sinks/registry.js';
import { spoolLayout } from '../../src/spool/layout.js';
import type { Logger } from '../../src/telemetry/log.js';
import { BufferPool } from '../../src/upload/buffer-pool.js';
import { Claims } from '../../src/upload/claims.js';
import { Destination } from '../../src/upload/destination.js';
import { DirTransport } from '../../src/upload/dir-transport.js';
import type { Transport } from '../../src/upload/transport.js';
import { Uploader, type Ending, type UploadEnd } from '../../src/upload/uploader.js';
import { Wakeup } from '../../src/upload/wakeup.js';
import { PreparedRun } from './prepared-spool.js';

/** Larger than any frame of the tests. */
const POOL_BYTES = 64 * 1024;

/** Ends when nothing is left; gives up only when a test hangs. */
export const UNTIL_EMPTY: Extract<Ending, { kind: 'empty' }> = {
  kind: 'empty',
  stalledAfterMs: 60_000,
  timeoutMs: 60_000,
};

export type Scripted = (
  request: ExchangeRequest,
  carry: (request: ExchangeRequest) => Promise<Answer>,
) => Promise<Answer>;

export const LOST: Answer = { kind: 'failure', code: 'ECONNRESET', reason: 'reset' };

/** An archive behind a transport that does to each request what the test says. */
export class ScriptedTransport implements Transport {
  readonly requests: ExchangeRequest[] = [];
  renewals = 0;
  readonly #inner: DirTransport;
  readonly #script: Scripted;

  constructor(dir: string, script: Scripted) {
    this.#inner = new DirTransport({ fs: nodeFileSystem, log: QUIET }, dir);
    this.#script = script;
  }

  send(request: ExchangeRequest): Promise<Answer> {
    this.requests.push(request);
    return this.#script(request, (what) => this.#inner.send(what));
  }

  renew(): Promise<boolean> {
    this.renewals += 1;
    return Promise.resolve(false);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** A transport that does what it should. */
export function honest(dir: string): ScriptedTransport {
  return new ScriptedTransport(dir, (request, carry) => carry(request));
}

export function linesOf(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `line ${String(first + i)}\n`);
}

/** An ended run of so many segments of ten lines. */
export async function endedRun(spool: string, segmentCount: number): Promise<PreparedRun> {
  const run = new PreparedRun(spool, { exit: { code: 0 } });
  for (let index = 0; index < segmentCount; index += 1) {
    run.sealed('stdout', linesOf(index * 10 + 1, 10));
  }
  await run.record();
  return run;
}

export interface Uploading {
  readonly uploader: Uploader;
  readonly claims: Claims;
  readonly destinations: readonly Destination[];
  readonly wakeup: Wakeup;
  /** What was logged at warn and error. */
  readonly complaints: string[];
  run(ending?: Ending): Promise<UploadEnd>;
}

const QUIET: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export interface UploadingSettings {
  readonly fs?: FileSystem;
  readonly batchMaxBytes?: number;
  readonly onlyRun?: string;
  readonly maxInFlight?: number;
  readonly maxHeldRuns?: number;
  readonly cycleDeadlineMs?: number;
}

/** An uploader of a spool to the given transports, by their URLs. */
export function uploading(
  spool: string,
  transports: Readonly<Record<string, Transport>>,
  more: UploadingSettings = {},
): Uploading {
  const complaints: string[] = [];
  const complain = (_: unknown, message: string): void => void complaints.push(message);
  const log: Logger = { ...QUIET, warn: complain, error: complain };
  const { fs = nodeFileSystem, batchMaxBytes = 4096, onlyRun, maxInFlight = 4 } = more;
  const destinations = Object.entries(transports).map(([url, transport]) => {
    // Short waits: a millisecond or two after the first failures.
    const parts = { clock: systemClock, random: () => 0.003, log, maxInFlight };
    return new Destination({ ...parts, sink: parseSink(url), transport });
  });
  const claims = new Claims({
    fs,
    clock: systemClock,
    log,
    layout: spoolLayout(spool),
    pool: new BufferPool(POOL_BYTES),
    batchMaxBytes,
    onlyRun,
    maxHeldRuns: more.maxHeldRuns ?? 256,
    destinationsOf: () => destinations,
  });
  const wakeup = new Wakeup();
  const uploader = new Uploader({
    clock: systemClock,
    claims,
    wakeup,
    destinations: () => destinations,
    cycleDeadlineMs: more.cycleDeadlineMs ?? 200,
  });
  const run = (ending: Ending = UNTIL_EMPTY): Promise<UploadEnd> => uploader.run(ending);
  return { uploader, claims, destinations, wakeup, complaints, run };
}

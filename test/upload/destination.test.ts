import { beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { parseSink } from '../../src/sinks/registry.js';
import type { Stop } from '../../src/sinks/sink.js';
import { Destination } from '../../src/upload/destination.js';
import type { Transport } from '../../src/upload/transport.js';

const RETRY = { kind: 'retry', reason: 'it answered 503' } as const;
const STOP: Stop = {
  kind: 'stop',
  scope: 'destination',
  reason: 'it answered 401',
  hint: 'check the token',
  credentials: true,
};

let nowMs: number;
let lines: string[];
let renewals: number;
let areReplaced: boolean;
let destination: Destination;

beforeEach(() => {
  nowMs = 1000;
  lines = [];
  renewals = 0;
  areReplaced = false;
  const clock: Clock = { wallMs: () => 0, wallNs: () => 0n, monotonicMs: () => nowMs };
  const log = (level: string) => (_: unknown, message: string) =>
    void lines.push(`${level} ${message}`);
  const transport: Transport = {
    send: () => Promise.resolve({ kind: 'failure', code: 'X', reason: 'x' }),
    renew: () => {
      renewals += 1;
      const answer = areReplaced;
      areReplaced = false;
      return Promise.resolve(answer);
    },
    close: () => Promise.resolve(),
  };
  destination = new Destination({
    sink: parseSink('shipper+http://h'),
    transport,
    clock,
    random: () => 0.5,
    log: { debug: () => undefined, info: log('info'), warn: log('warn'), error: log('error') },
    maxInFlight: 4,
  });
});

/** Fills places until there is none, and says how many there were. */
function places(): number {
  let count = 0;
  while (destination.isReady && count < 100) {
    void destination.occupy(() => new Promise(() => undefined));
    count += 1;
  }
  return count;
}

describe('Destination', () => {
  it('takes so many requests at once as it was told', () => {
    expect(places()).toBe(4);
  });

  it('has a place again when one is done, however it ended', async () => {
    await destination.occupy(() => Promise.resolve());
    await destination.occupy(() => Promise.reject(new Error('x'))).catch(() => undefined);
    expect(places()).toBe(4);
  });

  it('counts what it sends', async () => {
    const request = { method: 'GET', path: '/', headers: {}, body: undefined } as const;
    expect(await destination.send(request)).toMatchObject({ kind: 'failure' });
    expect(destination.stats.requests).toBe(1);
  });

  it('waits longer after each failure, and lets one request look whether it is over', () => {
    const waits: number[] = [];
    for (let failure = 0; failure < 10; failure += 1) {
      destination.failed(RETRY, nowMs);
      waits.push(destination.blockedForMs);
      expect(destination.isReady).toBe(false);
      nowMs += destination.blockedForMs;
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    expect(places()).toBe(1);
  });

  it('does not wait for requests that hang to look whether it is over', () => {
    for (let count = 0; count < 3; count += 1) {
      void destination.occupy(() => new Promise(() => undefined));
    }
    destination.failed(RETRY, nowMs);
    nowMs += 1000;
    expect(places()).toBe(1);
  });

  it('counts requests that failed together once', () => {
    destination.failed(RETRY, nowMs);
    const wait = destination.blockedForMs;
    for (let request = 0; request < 5; request += 1) destination.failed(RETRY, nowMs - 10);
    expect(destination.blockedForMs).toBe(wait);
    expect(destination.stats.retries).toBe(6);
  });

  it('waits at least as long as it is asked to, by whichever of several answers', () => {
    destination.failed(RETRY, nowMs);
    destination.failed({ ...RETRY, afterMs: 7000 }, nowMs - 10);
    expect(destination.blockedForMs).toBe(7000);
    destination.failed({ ...RETRY, afterMs: 3000 }, nowMs - 10);
    expect(destination.blockedForMs).toBe(7000);
  });

  it('is as before after a success, and says so', () => {
    destination.failed(RETRY, nowMs);
    expect(destination.lastError).toBe('it answered 503');
    destination.succeeded(nowMs);
    expect(destination.lastError).toBeUndefined();
    expect(destination.blockedForMs).toBe(0);
    expect(places()).toBe(4);
    expect(lines.at(-1)).toBe('info delivery goes on');
  });

  it('goes on waiting when a request succeeds that began before the failure', () => {
    destination.failed({ ...RETRY, afterMs: 7000 }, nowMs);
    destination.succeeded(nowMs - 10);
    expect(destination.blockedForMs).toBe(7000);
    expect(destination.lastError).toBe('it answered 503');
  });

  it('says once that it stopped and what to do, and reads the credentials each time', async () => {
    await destination.stop(STOP, nowMs);
    nowMs += 60_000;
    await destination.stop(STOP, nowMs);
    expect(lines).toEqual([
      'warn cannot deliver to shipper+http://h: it answered 401; check the token',
    ]);
    expect(renewals).toBe(2);
    expect([destination.isStopped, destination.refusesCredentials]).toEqual([true, true]);
    expect(destination.lastError).toBe('it answered 401; check the token');
    expect(destination.isReady).toBe(false);
    nowMs += 60_000;
    destination.succeeded(nowMs);
    expect([destination.isStopped, destination.refusesCredentials]).toEqual([false, false]);
  });

  it('probes a destination that stopped slowly, one request at a time', async () => {
    await destination.stop({ ...STOP, credentials: false }, nowMs);
    expect(destination.blockedForMs).toBe(30_000);
    expect(renewals).toBe(0);
    nowMs += 30_000;
    expect(places()).toBe(1);
  });

  it('tries credentials that were replaced soon, whoever was refused first', async () => {
    areReplaced = true;
    const startedMs = nowMs;
    nowMs += 5;
    await Promise.all([destination.stop(STOP, startedMs), destination.stop(STOP, startedMs)]);
    nowMs += 5;
    await destination.stop(STOP, startedMs);
    expect(destination.isStopped).toBe(false);
    expect(destination.blockedForMs).toBeLessThan(1000);
    nowMs += 1000;
    await destination.stop(STOP, nowMs);
    expect(destination.isStopped).toBe(true);
    expect(destination.blockedForMs).toBe(30_000);
  });

  it('says why credentials cannot be read, and probes with the old ones', async () => {
    const transport: Transport = {
      send: () => new Promise(() => undefined),
      renew: () => Promise.reject(new Error('cannot read the token file')),
      close: () => Promise.resolve(),
    };
    const clock: Clock = { wallMs: () => 0, wallNs: () => 0n, monotonicMs: () => nowMs };
    const warnings: string[] = [];
    const quiet = (): void => undefined;
    const log = {
      debug: quiet,
      info: quiet,
      error: quiet,
      warn: (_: unknown, text: string) => {
        warnings.push(text);
      },
    };
    const sink = parseSink('shipper+http://h');
    const parts = { sink, transport, clock, random: () => 0.5, log, maxInFlight: 4 };
    const other = new Destination(parts);
    await other.stop(STOP, nowMs);
    expect(other.isStopped).toBe(true);
    expect(warnings[0]).toBe('cannot read the token file');
  });

  it('is no longer stopped when it fails in another way', async () => {
    await destination.stop(STOP, nowMs);
    nowMs += 30_000;
    destination.failed(RETRY, nowMs);
    expect([destination.isStopped, destination.refusesCredentials]).toEqual([false, false]);
    expect(destination.lastError).toBe('it answered 503');
  });
});

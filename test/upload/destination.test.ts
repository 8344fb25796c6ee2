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
let destination: Destination;

beforeEach(() => {
  nowMs = 1000;
  lines = [];
  renewals = 0;
  const clock: Clock = { wallMs: () => 0, wallNs: () => 0n, monotonicMs: () => nowMs };
  const log = (level: string) => (_: unknown, message: string) =>
    void lines.push(`${level} ${message}`);
  const transport: Transport = {
    send: () => Promise.resolve({ kind: 'failure', code: 'X', reason: 'x' }),
    renew: () => Promise.resolve(void (renewals += 1)),
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

  it('waits longer after each failure, and lets one request look whether it is over', () => {
    const waits: number[] = [];
    for (let failure = 0; failure < 10; failure += 1) {
      destination.failed(RETRY, nowMs);
      waits.push(destination.blockedForMs);
      nowMs += destination.blockedForMs;
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    expect(places()).toBe(1);
  });

  it('counts requests that failed together once', () => {
    destination.failed(RETRY, nowMs);
    const wait = destination.blockedForMs;
    for (let request = 0; request < 5; request += 1) destination.failed(RETRY, nowMs - 10);
    expect(destination.blockedForMs).toBe(wait);
  });

  it('waits at least as long as it is asked to', () => {
    destination.failed({ ...RETRY, afterMs: 7000 }, nowMs);
    expect(destination.blockedForMs).toBe(7000);
  });

  it('is as before after a success, and says so', () => {
    destination.failed(RETRY, nowMs);
    expect(destination.lastError).toBe('it answered 503');
    destination.succeeded();
    expect(destination.lastError).toBeUndefined();
    expect(destination.blockedForMs).toBe(0);
    expect(places()).toBe(4);
    expect(lines.at(-1)).toBe('info delivery goes on');
  });

  it('says once that it stopped and what to do, and reads the credentials each time', async () => {
    await destination.stop(STOP);
    nowMs += 60_000;
    await destination.stop(STOP);
    expect(lines).toEqual([
      'warn cannot deliver to shipper+http://h: it answered 401; check the token',
    ]);
    expect(renewals).toBe(2);
    expect([destination.isStopped, destination.refusesCredentials]).toEqual([true, true]);
    expect(destination.isReady).toBe(false);
    destination.succeeded();
    expect([destination.isStopped, destination.refusesCredentials]).toEqual([false, false]);
  });

  it('probes a destination that stopped slowly', async () => {
    await destination.stop(STOP);
    expect(destination.blockedForMs).toBe(30_000);
  });
});

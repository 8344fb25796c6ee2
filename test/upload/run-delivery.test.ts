import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { parseSink } from '../../src/sinks/registry.js';
import { spoolLayout } from '../../src/spool/layout.js';
import { readMarks } from '../../src/spool/marks.js';
import { ownIdentity } from '../../src/spool/process-identity.js';
import { readRunRecord } from '../../src/spool/run-record.js';
import { BufferPool } from '../../src/upload/buffer-pool.js';
import { Destination } from '../../src/upload/destination.js';
import { RunDelivery } from '../../src/upload/run-delivery.js';
import { ModelReceiver, ModelTransport } from '../support/model-receiver.js';
import { PreparedRun, type PreparedSettings } from '../support/prepared-spool.js';
import { runIds, segments } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { LOST } from '../support/uploading.js';

const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** A run of three one-line segments and what delivers it, to destinations named by their hosts. */
class Bench {
  readonly spool: string = temporaryDirectory();
  readonly run: PreparedRun;
  readonly receivers = new Map<string, ModelReceiver>();
  fs: FileSystem = nodeFileSystem;

  constructor(settings: PreparedSettings) {
    this.run = new PreparedRun(this.spool, settings);
    for (const line of ['a\n', 'b\n', 'c\n']) this.run.sealed('stdout', [line]);
  }

  /** @param dead hosts that never answer */
  async open(hosts: readonly string[], dead: readonly string[] = []): Promise<RunDelivery> {
    await this.run.record();
    const { record } = await readRunRecord(this.fs, this.run.directory, this.run.id);
    const destinations = hosts.map((host) => {
      const receiver = this.receivers.get(host) ?? new ModelReceiver();
      this.receivers.set(host, receiver);
      const transport = new ModelTransport((request) =>
        dead.includes(host) ? LOST : receiver.handle(request),
      );
      const sink = parseSink(`shipper+http://${host}`);
      const parts = { sink, transport, clock: systemClock, random: () => 0, log, maxInFlight: 4 };
      return new Destination(parts);
    });
    const parts = {
      fs: this.fs,
      clock: systemClock,
      log,
      layout: spoolLayout(this.spool),
      pool: new BufferPool(64 * 1024),
      batchMaxBytes: 4096,
    };
    return RunDelivery.open(parts, record, destinations);
  }

  get sealed(): number {
    return segments(this.spool, this.run.id, 'sealed').length;
  }
}

/** Steps every way until none has anything to do. */
async function settle(delivery: RunDelivery): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    for (const way of delivery.ways) await way.step();
  }
}

describe('RunDelivery', () => {
  it('writes the marks, removes what is confirmed, and goes on with what comes', async () => {
    const bench = new Bench({ writer: ownIdentity() });
    const delivery = await bench.open(['a']);
    expect(delivery.isEmpty).toBe(false);
    await delivery.tidy();
    expect(bench.sealed).toBe(3);
    await settle(delivery);
    await delivery.tidy();
    expect(bench.sealed).toBe(0);
    const { sinks } = await readMarks(nodeFileSystem, bench.run.directory);
    expect(sinks).toMatchObject({ 'shipper+http://a': { marks: { stdout: 3 }, finished: false } });
    bench.run.sealed('stdout', ['d\n']);
    await delivery.refresh();
    await settle(delivery);
    await delivery.tidy();
    expect(bench.sealed).toBe(0);
    expect(bench.receivers.get('a')?.text(bench.run.id)).toBe('a\nb\nc\nd\n');
    expect(delivery.isFinished).toBe(false);
  });

  it('removes only segments that are covered as a whole', async () => {
    const bench = new Bench({ writer: ownIdentity() });
    bench.run.sealed('stdout', ['d\n', 'e\n']);
    const delivery = await bench.open(['a']);
    await settle(delivery);
    bench.receivers.get('a')!.runs.get(bench.run.id)!.entries.stdout.splice(4);
    const again = await bench.open(['a']);
    const [way] = again.ways;
    await way?.step();
    expect(way?.settled('stdout')).toBe(4);
    await again.tidy();
    expect(segments(bench.spool, bench.run.id, 'sealed')).toEqual([
      'stdout-000000000004-000000000005.seg',
    ]);
  });

  it('keeps what one of several destinations has not confirmed', async () => {
    const bench = new Bench({ exit: { code: 0 } });
    const delivery = await bench.open(['a', 'dead'], ['dead']);
    await settle(delivery);
    await delivery.tidy();
    expect(bench.sealed).toBe(3);
    expect(delivery.ways.map(({ isFinished }) => isFinished)).toEqual([true, false]);
    expect([delivery.isFinished, delivery.isIdle]).toEqual([false, false]);
    const { sinks } = await readMarks(nodeFileSystem, bench.run.directory);
    expect(sinks).toMatchObject({
      'shipper+http://a': { finished: true, lastError: null },
      'shipper+http://dead': { finished: false, lastError: 'reset' },
    });
    // The next uploader does not ask the first again.
    bench.receivers.set('a', new ModelReceiver());
    const again = await bench.open(['a', 'dead']);
    await settle(again);
    expect(again.isFinished).toBe(true);
    expect(bench.receivers.get('a')?.requests).toBe(0);
    await again.remove();
    expect(runIds(bench.spool)).toEqual([]);
  });

  it('removes on a disk that has no room for the marks', async () => {
    const bench = new Bench({ writer: ownIdentity() });
    let isFull = true;
    bench.fs = {
      ...nodeFileSystem,
      create: (path) => {
        if (isFull) throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' });
        return nodeFileSystem.create(path);
      },
    };
    const delivery = await bench.open(['a']);
    await settle(delivery);
    await delivery.tidy();
    expect(bench.sealed).toBe(0);
    isFull = false;
    await delivery.tidy();
    const { sinks } = await readMarks(nodeFileSystem, bench.run.directory);
    expect(sinks).toMatchObject({ 'shipper+http://a': { marks: { stdout: 3 } } });
  });

  it('removes the others when one segment cannot be removed, and that one later', async () => {
    const bench = new Bench({ writer: ownIdentity() });
    let isStuck = true;
    bench.fs = {
      ...nodeFileSystem,
      unlink: (path) =>
        isStuck && path.endsWith('000000000001.seg')
          ? Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }))
          : nodeFileSystem.unlink(path),
    };
    const delivery = await bench.open(['a']);
    await settle(delivery);
    await expect(delivery.tidy()).rejects.toMatchObject({ code: 'EIO' });
    expect(bench.sealed).toBe(1);
    isStuck = false;
    await delivery.tidy();
    expect(bench.sealed).toBe(0);
  });

  it('learns the end from the record, and leaves nothing behind', async () => {
    const bench = new Bench({ writer: ownIdentity() });
    const delivery = await bench.open(['a']);
    await settle(delivery);
    await delivery.tidy();
    const path = join(bench.run.directory, 'run.json');
    const { record } = await readRunRecord(nodeFileSystem, bench.run.directory, bench.run.id);
    const end = {
      streams: { stdout: { last: 3, bytes: 6, sha256: null } },
      gaps: 0,
      endedAt: null,
    };
    writeFileSync(path, '{"torn');
    await delivery.refresh();
    expect(delivery.record.end).toBeNull();
    writeFileSync(path, JSON.stringify({ ...record, ...end, exit: { code: 3 } }));
    await delivery.refresh();
    await settle(delivery);
    expect(delivery.isFinished).toBe(true);
    await delivery.remove();
    expect(runIds(bench.spool)).toEqual([]);
  });

  it('says whether all that it waits for is refused', async () => {
    const bench = new Bench({ exit: { code: 0 } });
    const delivery = await bench.open(['a', 'dead'], ['dead']);
    await settle(delivery);
    expect(delivery.isRefused).toBe(false);
    const stop = { kind: 'stop', scope: 'destination', credentials: false } as const;
    await delivery.ways[1]?.destination.stop({ ...stop, reason: 'no', hint: 'x' }, 1e15);
    expect(delivery.isRefused).toBe(true);
  });
});

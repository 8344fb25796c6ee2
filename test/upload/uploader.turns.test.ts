import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/core/exchange.js';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { uploaderLockPath } from '../../src/spool/layout.js';
import { readMarks } from '../../src/spool/marks.js';
import { ownIdentity } from '../../src/spool/process-identity.js';
import { totalStats } from '../../src/upload/uploader.js';
import { archivedBytes } from '../support/archive.js';
import { ModelReceiver, ModelTransport } from '../support/model-receiver.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { runIds, runJson, segments } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { endedRun, honest, linesOf, LOST, UNTIL_EMPTY, uploading } from '../support/uploading.js';

const URL = 'shipper+http://h';

/** Several runs and destinations, and how an uploader ends. */
describe('Uploader', () => {
  it('gives a run with one line its turn beside a run with a large backlog', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const large = await endedRun(spool, 200);
    const small = await endedRun(spool, 1);
    const transport = honest(dir);
    await uploading(spool, { [URL]: transport }, { batchMaxBytes: 300, maxInFlight: 1 }).run();
    const paths = transport.requests.map(({ path }) => path);
    const position = paths.findIndex((path) => path.includes(`${small.id}/streams`));
    expect(position).toBeGreaterThan(0);
    expect(position).toBeLessThan(10);
    expect(paths.filter((path) => path.includes(`${large.id}/streams`)).length).toBeGreaterThan(50);
  });

  it('delivers every run of a spool that holds more than it may hold at once', async () => {
    const spool = temporaryDirectory();
    const receiver = new ModelReceiver();
    const runs: PreparedRun[] = [];
    for (let count = 0; count < 7; count += 1) runs.push(await endedRun(spool, 1));
    // Two that can go no further must not be in the way.
    for (const { directory } of runs.slice(0, 2)) {
      for (const name of readdirSync(directory)) {
        if (name.endsWith('.seg')) writeFileSync(join(directory, name), 'nonsense');
      }
    }
    const transport = new ModelTransport((request) => receiver.handle(request));
    const { run: start } = uploading(spool, { [URL]: transport }, { maxHeldRuns: 2 });
    expect(await start()).toBe('done');
    expect(runIds(spool)).toEqual(
      runs
        .slice(0, 2)
        .map(({ id }) => id)
        .sort(),
    );
  });

  it('sees what is new at the next bell, while another run is being delivered', async () => {
    const spool = temporaryDirectory();
    const receiver = new ModelReceiver();
    const large = await endedRun(spool, 50);
    let small: PreparedRun | undefined;
    const order: string[] = [];
    const transport = new ModelTransport(async (request) => {
      order.push(request.path);
      if (order.length === 5) {
        small = await endedRun(spool, 1);
        upload.wakeup.ring(small.id);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
      return receiver.handle(request);
    });
    // No cycle ends by its deadline: the bell alone tells of the new run.
    const settings = { batchMaxBytes: 100, maxInFlight: 1, cycleDeadlineMs: 60_000 };
    const upload = uploading(spool, { [URL]: transport }, settings);
    expect(await upload.run()).toBe('done');
    expect(receiver.runs.get(small!.id)?.isFinished).toBe(true);
    const finishOfLarge = order.indexOf(`/v1/runs/${large.id}/finish`);
    expect(order.indexOf(`/v1/runs/${small!.id}/finish`)).toBeLessThan(finishOfLarge);
  });

  it('does not delay one run because a request of another hangs', async () => {
    const spool = temporaryDirectory();
    const receiver = new ModelReceiver();
    const [hanging, other] = [await endedRun(spool, 1), await endedRun(spool, 30)];
    const transport = new ModelTransport((request) =>
      request.path.includes(`${hanging.id}/streams`)
        ? new Promise(() => undefined)
        : receiver.handle(request),
    );
    const upload = uploading(spool, { [URL]: transport }, { batchMaxBytes: 300 });
    void upload.run();
    await expect.poll(() => receiver.runs.get(other.id)?.isFinished).toBe(true);
    await expect.poll(() => runIds(spool)).toEqual([hanging.id]);
  });

  it('ends within its grace while a request hangs, and remembers what was confirmed', async () => {
    const spool = temporaryDirectory();
    const receiver = new ModelReceiver();
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    run.sealed('stdout', linesOf(1, 10));
    run.sealed('stderr', ['hangs\n']);
    await run.record();
    let fail: (answer: Answer) => void = () => undefined;
    const transport = new ModelTransport((request) =>
      request.path.endsWith('stderr')
        ? new Promise<Answer>((resolve) => (fail = resolve))
        : receiver.handle(request),
    );
    // As the transport over HTTP: closing it ends what is under way.
    transport.close = () => {
      fail(LOST);
      return Promise.resolve();
    };
    const upload = uploading(spool, { [URL]: transport });
    const end = upload.run();
    await expect.poll(() => receiver.mark(run.id)).toBe(10);
    upload.uploader.stop();
    expect(await end).toBe('stopped');
    expect(segments(spool, run.id, 'sealed')).toEqual(['stderr-000000000001-000000000001.seg']);
    const { sinks } = await readMarks(nodeFileSystem, run.directory);
    expect(sinks[URL]).toMatchObject({ marks: { stdout: 10 } });
    expect(existsSync(uploaderLockPath(run.directory))).toBe(false);
  });

  it('sends few requests to a destination that is down, however many runs wait', async () => {
    const spool = temporaryDirectory();
    for (let count = 0; count < 10; count += 1) await endedRun(spool, 3);
    const transport = new ModelTransport(() => LOST);
    const { run: start, destinations } = uploading(spool, { [URL]: transport });
    const limits = { ...UNTIL_EMPTY, stalledAfterMs: 400 };
    expect(await start(limits)).toBe('stalled');
    // Waits of 1, 3, 6, 12, 24, 48, 96, 180 and 180 ms: one at a time after the first round.
    expect(transport.requests.length).toBeLessThan(20);
    expect(destinations[0]?.lastError).toBe('reset');
  });

  it('ends with a run that is over, and not before', async () => {
    const spool = temporaryDirectory();
    const receiver = new ModelReceiver();
    const transport = new ModelTransport((request) => receiver.handle(request));
    const run = new PreparedRun(spool, { writer: ownIdentity() });
    run.sealed('stdout', ['a\n']);
    const record = await run.record();
    const upload = uploading(spool, { [URL]: transport }, { onlyRun: run.id });
    const ended = upload.run({ kind: 'run-over' });
    await expect.poll(() => segments(spool, run.id, 'sealed')).toEqual([]);
    const streams = { stdout: { last: 1, bytes: 2, sha256: null } };
    const end = { streams, gaps: 0, endedAt: null, exit: { code: 0 } };
    run.file('run.json', JSON.stringify({ ...record, ...end }));
    upload.wakeup.ring(run.id);
    expect(await ended).toBe('done');
    expect(runIds(spool)).toEqual([]);
  });

  it('lets no dead destination delay another, and keeps what one has not got', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = await endedRun(spool, 5);
    const dead = new ModelTransport(() => LOST);
    const both = uploading(spool, { [URL]: honest(dir), 'shipper+http://dead': dead });
    expect(await both.run({ ...UNTIL_EMPTY, stalledAfterMs: 300 })).toBe('stalled');
    expect(runJson(dir, run.id)).toMatchObject({ exit: { code: 0 } });
    expect(segments(spool, run.id, 'sealed')).toHaveLength(5);
    const other = temporaryDirectory();
    const again = uploading(spool, { [URL]: honest(dir), 'shipper+http://dead': honest(other) });
    expect(await again.run()).toBe('done');
    expect(archivedBytes(other, run.id, 'stdout').toString()).toBe(linesOf(1, 50).join(''));
    expect(runIds(spool)).toEqual([]);
  });

  it('sleeps through no back-off that has ended already', async () => {
    const spool = temporaryDirectory();
    await endedRun(spool, 1);
    const receiver = new ModelReceiver();
    const failures = [LOST, LOST, LOST, LOST];
    const transport = new ModelTransport((request) => failures.pop() ?? receiver.handle(request));
    // Writing the marks takes longer than the back-off; a rescan would come too late.
    const fs: FileSystem = {
      ...nodeFileSystem,
      rename: async (from, to) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        await nodeFileSystem.rename(from, to);
      },
    };
    const upload = uploading(spool, { [URL]: transport }, { fs });
    expect(await upload.run({ ...UNTIL_EMPTY, timeoutMs: 1900 })).toBe('done');
  });

  it('counts over all destinations', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    await endedRun(spool, 2);
    const both = uploading(spool, { [URL]: honest(dir), 'shipper+http://other': honest(spool) });
    await both.run();
    expect(totalStats(both.destinations)).toMatchObject({ requests: 6, entries: 40, retries: 0 });
  });
});

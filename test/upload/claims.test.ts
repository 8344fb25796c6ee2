import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { newRunId } from '../../src/core/run-id.js';
import { uploaderLockPath } from '../../src/spool/layout.js';
import { ownIdentity } from '../../src/spool/process-identity.js';
import { bundleProgram, startProgram } from '../support/child-program.js';
import { buryLocks } from '../support/freezable.js';
import { ModelReceiver, ModelTransport } from '../support/model-receiver.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { runIds, segments } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { uploading, type Uploading, type UploadingSettings } from '../support/uploading.js';

const URL = 'shipper+http://h';

/** Claims over a spool, with a destination that works. Nothing is sent by itself. */
function claiming(spool: string, more: UploadingSettings = {}): Uploading {
  const receiver = new ModelReceiver();
  const transport = new ModelTransport((request) => receiver.handle(request));
  return uploading(spool, { [URL]: transport }, more);
}

async function endedRun(spool: string): Promise<PreparedRun> {
  const run = new PreparedRun(spool, { exit: { code: 0 } });
  run.sealed('stdout', ['one\n']);
  await run.record();
  return run;
}

function failing(path: string, code: string): FileSystem {
  const fail = (): Promise<never> =>
    Promise.reject(Object.assign(new Error(`${code}: failed`), { code }));
  return {
    ...nodeFileSystem,
    list: (what) => (what === path ? fail() : nodeFileSystem.list(what)),
  };
}

function ids({ claims }: Uploading): string[] {
  return claims.deliveries.map(({ id }) => id);
}

describe('Claims', () => {
  it('holds every run of the spool, or the one that it is told to', async () => {
    const spool = temporaryDirectory();
    const [first, second] = [await endedRun(spool), await endedRun(spool)];
    const one = claiming(spool, { onlyRun: second.id });
    await one.claims.rescan();
    await one.claims.look([first.id]);
    expect(ids(one)).toEqual([second.id]);
    await one.claims.close();
    const all = claiming(spool);
    await all.claims.rescan();
    expect(ids(all)).toEqual([first.id, second.id].sort());
    await all.claims.close();
    expect(existsSync(uploaderLockPath(first.directory))).toBe(false);
  });

  it('leaves a run to a living process, and takes it over from a killed one', async () => {
    const spool = temporaryDirectory();
    const run = await endedRun(spool);
    const other = startProgram(await bundleProgram('lock-program'));
    await other.nextLine();
    expect(await other.ask(`acquire ${uploaderLockPath(run.directory)}`)).toBe('acquired');
    let reads = 0;
    const fs: FileSystem = {
      ...nodeFileSystem,
      readFile: (path) => {
        reads += 1;
        return nodeFileSystem.readFile(path);
      },
    };
    const ours = claiming(spool, { fs });
    await ours.claims.rescan();
    expect(ids(ours)).toEqual([]);
    expect([...ours.claims.skipped]).toEqual([[run.id, { kind: 'held', pid: other.pid }]]);
    // Its bells cost nothing: the next rescan will tell.
    reads = 0;
    await ours.claims.look([run.id]);
    expect([ids(ours), reads]).toEqual([[], 0]);
    await other.kill();
    await ours.claims.rescan();
    expect(ids(ours)).toEqual([run.id]);
    expect(ours.claims.skipped.size).toBe(0);
    await ours.claims.close();
  });

  it('claims a new run when it rings, and forgets one that is gone', async () => {
    const spool = temporaryDirectory();
    const ours = claiming(spool);
    await ours.claims.rescan();
    const run = await endedRun(spool);
    await ours.claims.look([run.id]);
    expect(ids(ours)).toEqual([run.id]);
    rmSync(run.directory, { recursive: true });
    await ours.claims.look([run.id]);
    await ours.claims.rescan();
    expect(ids(ours)).toEqual([]);
    await ours.claims.look([newRunId(0)]);
    expect(ids(ours)).toEqual([]);
  });

  it('recovers a wrapper that was killed while its run was held', async () => {
    const spool = temporaryDirectory();
    const run = new PreparedRun(spool, { writer: ownIdentity() });
    run.open('stdout', ['one\n', 'two\n']);
    const record = await run.record();
    const ours = claiming(spool);
    await ours.claims.rescan();
    expect(ours.claims.deliveries[0]?.record.end).toBeNull();
    run.file('run.json', JSON.stringify({ ...record, writer: { ...ownIdentity(), bootId: 'x' } }));
    // The record that is held still names the living one; a look at it tells.
    await ours.claims.rescan();
    await ours.claims.rescan();
    expect(ours.claims.deliveries[0]?.record.end).toMatchObject({ exit: { unknown: true } });
    expect(segments(spool, run.id, 'sealed')).toHaveLength(1);
    await ours.claims.close();
  });

  it('removes the rest of a removal, and keeps a run whose record is damaged', async () => {
    const spool = temporaryDirectory();
    const rest = join(spool, 'runs', newRunId(0));
    mkdirSync(rest, { recursive: true });
    writeFileSync(join(rest, 'marks.json'), '{}');
    const damaged = new PreparedRun(spool);
    damaged.sealed('stdout', ['kept\n']);
    damaged.file('run.json', 'nonsense');
    const ours = claiming(spool);
    await ours.claims.rescan();
    expect(runIds(spool)).toEqual([damaged.id]);
    expect(ids(ours)).toEqual([damaged.id]);
    expect(ours.complaints).toEqual([
      'run.json is damaged: delivering the run without its metadata',
    ]);
    await ours.claims.close();
  });

  it('frees no lock that another has taken over meanwhile', async () => {
    const spool = temporaryDirectory();
    const run = await endedRun(spool);
    const ours = claiming(spool);
    await ours.claims.rescan();
    buryLocks(run.directory);
    const thief = claiming(spool);
    await thief.claims.rescan();
    expect(ids(thief)).toEqual([run.id]);
    await ours.claims.close();
    expect(existsSync(uploaderLockPath(run.directory))).toBe(true);
    await thief.claims.close();
  });

  it('delivers no more of a run whose lock it has lost, until it has it again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const spool = temporaryDirectory();
    const run = await endedRun(spool);
    const ours = claiming(spool);
    await ours.claims.rescan();
    rmSync(uploaderLockPath(run.directory), { recursive: true });
    // The heartbeat finds out.
    await vi.advanceTimersByTimeAsync(15_000);
    while (ids(ours).length > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(ours.claims.isOutdated).toBe(true);
    expect(ours.complaints).toEqual(['lost the lock of a run: another uploader has it']);
    await ours.claims.look([run.id]);
    expect(await ours.claims.tidy()).toBe(0);
    expect(ids(ours)).toEqual([]);
    await ours.claims.rescan();
    expect(ids(ours)).toEqual([run.id]);
    expect(ours.claims.isOutdated).toBe(false);
    await ours.claims.close();
  });

  it('says that the spool cannot be read, and what to try', async () => {
    const spool = temporaryDirectory();
    const run = await endedRun(spool);
    const { claims } = claiming(spool, { fs: failing(join(spool, 'runs'), 'EACCES') });
    await expect(claims.rescan()).rejects.toMatchObject({
      code: 'spool-unusable',
      message: `cannot read the spool ${spool}: EACCES: failed`,
      hint: expect.stringMatching(/permissions/) as string,
    });
    expect(runIds(spool)).toEqual([run.id]);
  });

  it('goes on with what it holds when the spool cannot be read later', async () => {
    const spool = temporaryDirectory();
    const run = await endedRun(spool);
    const fs = { ...nodeFileSystem };
    const ours = claiming(spool, { fs });
    await ours.claims.rescan();
    fs.list = failing(join(spool, 'runs'), 'EMFILE').list;
    await ours.claims.rescan();
    await ours.claims.rescan();
    expect(ids(ours)).toEqual([run.id]);
    expect(ours.complaints).toEqual([`cannot read the spool ${spool}: EMFILE: failed`]);
    await ours.claims.close();
  });

  it('lets no run that cannot be read stop the others, and says it once', async () => {
    const spool = temporaryDirectory();
    const [bad, good] = [await endedRun(spool), await endedRun(spool)];
    const ours = claiming(spool, { fs: failing(bad.directory, 'EIO') });
    await ours.claims.rescan();
    await ours.claims.rescan();
    expect(ids(ours)).toEqual([good.id]);
    expect(ours.claims.skipped.get(bad.id)).toEqual({ kind: 'failed', reason: 'EIO: failed' });
    expect(ours.complaints).toEqual(['cannot deliver a run: EIO: failed']);
    await ours.claims.close();
  });

  it('keeps a run that cannot be looked at again', async () => {
    const spool = temporaryDirectory();
    const run = await endedRun(spool);
    const fs = { ...nodeFileSystem };
    const ours = claiming(spool, { fs });
    await ours.claims.rescan();
    fs.list = failing(run.directory, 'EIO').list;
    await ours.claims.look([run.id]);
    await ours.claims.look([run.id]);
    expect(ids(ours)).toEqual([run.id]);
    expect(ours.complaints).toEqual(['cannot look at a run: EIO: failed']);
    await ours.claims.close();
  });

  it('holds no more runs than it may, and gives each its turn', async () => {
    const spool = temporaryDirectory();
    const all: string[] = [];
    // Runs that go on: there is nothing to do for them once they are looked at.
    for (let count = 0; count < 5; count += 1) {
      const run = new PreparedRun(spool, { writer: ownIdentity() });
      await run.record();
      all.push(run.id);
    }
    const ours = claiming(spool, { maxHeldRuns: 2 });
    const seen = new Set<string>();
    for (let look = 0; look < 12; look += 1) {
      await ours.claims.rescan();
      expect(ours.claims.deliveries.length).toBeLessThanOrEqual(2);
      for (const delivery of ours.claims.deliveries) {
        seen.add(delivery.id);
        for (const way of delivery.ways) await way.step();
        expect(delivery.isIdle).toBe(true);
      }
      await ours.claims.tidy();
    }
    expect([...seen].sort()).toEqual(all.sort());
    await ours.claims.close();
  });
});

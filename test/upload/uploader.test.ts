import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/core/exchange.js';
import { newRunId } from '../../src/core/run-id.js';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { uploaderLockPath } from '../../src/spool/layout.js';
import { acquireLock } from '../../src/spool/lock.js';
import { ownIdentity } from '../../src/spool/process-identity.js';
import { archivedBytes, archivedRuns } from '../support/archive.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { runIds, runJson, segments } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import {
  endedRun,
  honest,
  linesOf,
  LOST,
  ScriptedTransport,
  UNTIL_EMPTY,
  uploading,
} from '../support/uploading.js';

const URL = 'shipper+http://h';

function problem(status: number): Answer {
  return { kind: 'response', status, headers: {}, body: Buffer.alloc(0) };
}

describe('Uploader', () => {
  it('delivers in few requests, confirms the end, and leaves nothing behind', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = await endedRun(spool, 100);
    const transport = honest(dir);
    expect(await uploading(spool, { [URL]: transport }, { batchMaxBytes: 60_000 }).run()).toBe(
      'done',
    );
    expect(archivedBytes(dir, run.id, 'stdout').toString()).toBe(linesOf(1, 1000).join(''));
    expect(runJson(dir, run.id)).toMatchObject({
      exit: { code: 0 },
      streams: { stdout: { last: 1000 } },
    });
    // Open, one batch, finish.
    expect(transport.requests).toHaveLength(3);
    expect(runIds(spool)).toEqual([]);
    expect(existsSync(join(spool, 'wake', run.id))).toBe(false);
  });

  it('recovers the run of a killed wrapper, and finishes it without exit status', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = new PreparedRun(spool);
    run.sealed('stdout', ['one\n']);
    run.open('stdout', ['two\n', 'three\n'], '{"v":1,"seq":4,"n":1');
    run.open('stderr', ['only\n']);
    await run.record();
    expect(await uploading(spool, { [URL]: honest(dir) }).run()).toBe('done');
    expect(archivedBytes(dir, run.id, 'stdout').toString()).toBe('one\ntwo\nthree\n');
    expect(archivedBytes(dir, run.id, 'stderr').toString()).toBe('only\n');
    expect(runJson(dir, run.id)).toMatchObject({
      exit: { unknown: true },
      streams: { stdout: { last: 3, sha256: null }, stderr: { last: 1, sha256: null } },
    });
    expect(runIds(spool)).toEqual([]);
  });

  it('finishes a killed run of which everything was delivered and removed before', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = new PreparedRun(spool, { writer: ownIdentity() });
    run.sealed('stdout', ['one\n', 'two\n']);
    await run.record();
    expect(await uploading(spool, { [URL]: honest(dir) }).run()).toBe('done');
    expect(segments(spool, run.id, 'sealed')).toEqual([]);
    rmSync(join(run.directory, 'marks.json'));
    const dead = {
      ...runJson(join(spool, 'runs'), run.id),
      writer: { ...ownIdentity(), bootId: 'x' },
    };
    run.file('run.json', JSON.stringify(dead));
    expect(await uploading(spool, { [URL]: honest(dir) }).run()).toBe('done');
    expect(runJson(dir, run.id)).toMatchObject({ streams: { stdout: { last: 2 } } });
    expect(runIds(spool)).toEqual([]);
  });

  it('brings the stream exactly, and removes nothing unconfirmed, whatever is lost', async () => {
    const fate = fc.constantFrom(
      'carry',
      'carry',
      'carry',
      'lose',
      'lose answer',
      'twice',
      'late',
      'busy',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { maxLength: 40 }), fc.nat(40), async (fates, killAt) => {
        const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
        const run = await endedRun(spool, 30);
        let sent = 0;
        const script = (): ScriptedTransport =>
          new ScriptedTransport(dir, async (request, carry) => {
            const what = fates[sent] ?? 'carry';
            sent += 1;
            if (what === 'lose') return LOST;
            if (what === 'busy') return problem(503);
            if (what === 'late') await new Promise((resolve) => setTimeout(resolve, 20));
            const answer = await carry(request);
            if (what === 'twice') return carry(request);
            return what === 'lose answer' ? LOST : answer;
          });
        // An unlink of a segment is legal only once the archive holds what it covers.
        const fs: FileSystem = {
          ...nodeFileSystem,
          unlink: (path) => {
            const last = /-(\d{12})\.seg$/.exec(path)?.[1];
            if (last !== undefined) {
              const stored = archivedBytes(dir, run.id, 'stdout').toString().split('\n').length - 1;
              expect(stored).toBeGreaterThanOrEqual(Number(last));
            }
            return nodeFileSystem.unlink(path);
          },
        };
        const first = uploading(spool, { [URL]: script() }, { fs, batchMaxBytes: 500 });
        // Told to stop in the middle, and begun anew, as by the next process.
        if (killAt < 20)
          setTimeout(() => {
            first.uploader.stop();
          }, killAt);
        await first.run();
        const second = uploading(spool, { [URL]: script() }, { fs, batchMaxBytes: 500 });
        expect(await second.run()).toBe('done');
        expect(archivedBytes(dir, run.id, 'stdout').toString()).toBe(linesOf(1, 300).join(''));
        expect(runIds(spool)).toEqual([]);
        expect(sent).toBeLessThan(500);
        rmSync(spool, { recursive: true });
        rmSync(dir, { recursive: true });
      }),
      { numRuns: 10 },
    );
  }, 120_000);

  it.each([
    ['says that it was refused, once, and reads the credentials anew', 401, 'refused'],
    ['says that this is not the place', 404, 'refused'],
  ] as const)('%s', async (_, status, end) => {
    const spool = temporaryDirectory();
    const run = await endedRun(spool, 1);
    const transport = new ScriptedTransport(spool, () => Promise.resolve(problem(status)));
    const { run: start, complaints, destinations } = uploading(spool, { [URL]: transport });
    expect(await start()).toBe(end);
    expect(complaints.filter((line) => line.includes(String(status)))).toHaveLength(1);
    expect(transport.renewals).toBe(status === 401 ? 1 : 0);
    expect(destinations[0]?.refusesCredentials).toBe(status === 401);
    expect(transport.requests).toHaveLength(1);
    expect(segments(spool, run.id, 'sealed')).toHaveLength(1);
  });

  it('gives up after its time, or when it is told to, and loses nothing', async () => {
    const spool = temporaryDirectory();
    const run = await endedRun(spool, 1);
    const never = (): ScriptedTransport =>
      new ScriptedTransport(spool, () => new Promise((resolve) => setTimeout(resolve, 50, LOST)));
    const timed = uploading(spool, { [URL]: never() });
    expect(await timed.run({ ...UNTIL_EMPTY, timeoutMs: 120 })).toBe('timed-out');
    const told = uploading(spool, { [URL]: never() });
    setTimeout(() => {
      told.uploader.stop();
    }, 20);
    expect(await told.run()).toBe('stopped');
    expect(segments(spool, run.id, 'sealed')).toHaveLength(1);
    expect(runJson(join(spool, 'runs'), run.id)).toBeDefined();
  });

  it('leaves a run alone that another uploader has, and says which', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = await endedRun(spool, 1);
    const attempt = await acquireLock(uploaderLockPath(run.directory), () => undefined);
    if (attempt.kind === 'held') throw new Error('held');
    const { run: start, claims } = uploading(spool, { [URL]: honest(dir) });
    expect(await start()).toBe('done');
    expect([...claims.skipped]).toEqual([[run.id, { kind: 'held', pid: process.pid }]]);
    expect(archivedRuns(dir)).toEqual([]);
    await attempt.lock.release();
    expect(await uploading(spool, { [URL]: honest(dir) }).run()).toBe('done');
    expect(archivedRuns(dir)).toEqual([run.id]);
  });

  it('delivers a run whose record is damaged, and removes the rest of a removal', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = new PreparedRun(spool);
    run.sealed('stdout', ['kept\n']);
    run.file('run.json', '{"half');
    mkdirSync(join(spool, 'runs', newRunId(0)));
    const { run: start, complaints } = uploading(spool, { [URL]: honest(dir) });
    expect(await start()).toBe('done');
    expect(archivedBytes(dir, run.id, 'stdout').toString()).toBe('kept\n');
    expect(complaints).toEqual([expect.stringContaining('run.json is damaged') as string]);
    expect(runIds(spool)).toEqual([]);
  });

  it('leaves foreign files alone', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = await endedRun(spool, 1);
    run.file('notes.txt', 'mine');
    writeFileSync(join(spool, 'runs', 'foreign'), 'mine');
    expect(await uploading(spool, { [URL]: honest(dir) }).run()).toBe('done');
    expect(existsSync(join(run.directory, 'notes.txt'))).toBe(true);
    expect(existsSync(join(spool, 'runs', 'foreign'))).toBe(true);
  });

  it('delivers everything else beside a stream that is damaged, and says where', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const bad = new PreparedRun(spool, { exit: { code: 0 } });
    bad.sealed('stdout', ['good\n']);
    const path = bad.sealed('stdout', ['damaged\n']);
    bad.sealed('stderr', ['fine\n']);
    await bad.record();
    writeFileSync(path, 'nonsense');
    const good = await endedRun(spool, 1);
    const { run: start, complaints } = uploading(spool, { [URL]: honest(dir) });
    expect(await start()).toBe('done');
    expect(archivedBytes(dir, bad.id, 'stdout').toString()).toBe('good\n');
    expect(archivedBytes(dir, bad.id, 'stderr').toString()).toBe('fine\n');
    expect(archivedBytes(dir, good.id, 'stdout').length).toBeGreaterThan(0);
    expect(runIds(spool)).toEqual([bad.id]);
    expect(complaints).toHaveLength(1);
    expect(complaints[0]).toMatch(/stdout.*000000000002-000000000002\.seg at byte 0/);
  });

  it('does not end because what is delivered cannot be removed yet', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = await endedRun(spool, 3);
    let refusals = 3;
    const fs: FileSystem = {
      ...nodeFileSystem,
      unlink: (path) => {
        if (path.endsWith('.seg') && refusals-- > 0) {
          return Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
        }
        return nodeFileSystem.unlink(path);
      },
    };
    const { run: start, complaints } = uploading(spool, { [URL]: honest(dir) }, { fs });
    await start();
    await uploading(spool, { [URL]: honest(dir) }, { fs }).run();
    expect(archivedBytes(dir, run.id, 'stdout').toString()).toBe(linesOf(1, 30).join(''));
    expect(runIds(spool)).toEqual([]);
    expect(complaints.filter((line) => line.includes('EIO'))).toHaveLength(1);
  });

  it('stops a run that the destination contradicts, and lets the others go on', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const contradicted = await endedRun(spool, 1);
    const other = await endedRun(spool, 1);
    const refusal: Answer = {
      kind: 'response',
      status: 409,
      headers: { 'content-type': 'application/problem+json' },
      body: Buffer.from('{"type":"urn:shipper:problem:content-conflict"}'),
    };
    const transport = new ScriptedTransport(dir, (request, carry) =>
      request.path.includes(`${contradicted.id}/streams`)
        ? Promise.resolve(refusal)
        : carry(request),
    );
    const { run: start, complaints } = uploading(spool, { [URL]: transport });
    expect(await start()).toBe('done');
    expect(runIds(spool)).toEqual([contradicted.id]);
    expect(runJson(dir, other.id)).toMatchObject({ exit: { code: 0 } });
    expect(complaints).toEqual([expect.stringContaining('other content') as string]);
  });

  it('halves what is too large for the destination until it fits', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = await endedRun(spool, 20);
    const transport = new ScriptedTransport(dir, (request, carry) =>
      (request.body?.length ?? 0) > 700 ? Promise.resolve(problem(413)) : carry(request),
    );
    expect(await uploading(spool, { [URL]: transport }).run()).toBe('done');
    expect(archivedBytes(dir, run.id, 'stdout').toString()).toBe(linesOf(1, 200).join(''));
  });

  it('sends again what a destination has lost, as long as the spool has it', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    run.sealed('stdout', linesOf(1, 10));
    await run.record();
    await run.marks({ [URL]: { marks: { stdout: 10 } } });
    const { run: start, complaints } = uploading(spool, { [URL]: honest(dir) });
    expect(await start()).toBe('done');
    expect(archivedBytes(dir, run.id, 'stdout').toString()).toBe(linesOf(1, 10).join(''));
    expect(complaints).toEqual([
      expect.stringContaining('stdout 1 to 10; the spool still') as string,
    ]);
    expect(runIds(spool)).toEqual([]);
  });

  it('reports a spool that cannot be read', async () => {
    const spool = temporaryDirectory();
    writeFileSync(join(spool, 'runs'), 'a file');
    const { run: start } = uploading(spool, { [URL]: honest(spool) });
    await expect(start()).rejects.toMatchObject({ code: 'spool-unusable' });
  });

  it('says loudly what a destination has lost that the spool has no more', async () => {
    const [spool, dir] = [temporaryDirectory(), temporaryDirectory()];
    const run = new PreparedRun(spool, { exit: { code: 0 } });
    rmSync(run.sealed('stdout', linesOf(1, 10)));
    run.sealed('stdout', linesOf(11, 10));
    await run.record();
    await run.marks({ [URL]: { marks: { stdout: 10 } } });
    const { run: start, complaints } = uploading(spool, { [URL]: honest(dir) });
    expect(await start()).toBe('done');
    expect(segments(spool, run.id, 'sealed')).toHaveLength(1);
    expect(complaints).toEqual([
      expect.stringMatching(/lost.*stdout 1 to 10; restore it/) as string,
    ]);
  });
});

import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ShipperError } from '../../src/core/errors.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { hangBell } from '../../src/spool/bell.js';
import { createRun, removeLeftovers } from '../../src/spool/create-run.js';
import { runDirectory, spoolLayout } from '../../src/spool/layout.js';
import { listRuns } from '../../src/spool/listing.js';
import { readRunRecord, type RunRecord } from '../../src/spool/run-record.js';
import { SimulatedDisk } from '../support/simulated-disk.js';
import { DIRECTORY, LAYOUT, RECORD, RUN_ID } from '../support/simulated-run.js';
import { visitOutcomes } from '../support/simulated-outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const PREPARED = `${DIRECTORY}.tmp`;

const SECOND: RunRecord = { ...RECORD, id: RUN_ID.replace(/.$/, '1') };

async function failureOf(promise: Promise<unknown>): Promise<ShipperError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ShipperError) return error;
  throw new Error(`no refusal: ${String(error)}`);
}

/**
 * Creates the run on a disk that stops after so many operations; undefined when it came to its end.
 */
async function stoppedAfter(operations: number): Promise<SimulatedDisk | undefined> {
  const disk = new SimulatedDisk();
  disk.stopAfter = operations;
  const error: unknown = await createRun(disk, LAYOUT, RECORD).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error === undefined ? undefined : disk;
}

describe('a new run', () => {
  it('has its record and its bell, and can be seen', async () => {
    const disk = new SimulatedDisk();
    expect(await createRun(disk, LAYOUT, RECORD)).toBe(DIRECTORY);
    expect(await listRuns(disk, LAYOUT)).toEqual([RUN_ID]);
    expect(disk.files()).toEqual([`${DIRECTORY}/run.json`, `${LAYOUT.wake}/${RUN_ID}`]);
    expect((await readRunRecord(disk, DIRECTORY, RUN_ID)).record).toEqual(RECORD);
    expect(disk.openFiles).toBe(0);
  });

  it('is private on a real disk, and so is the spool that is made for it', async () => {
    const layout = spoolLayout(join(temporaryDirectory(), 'state', 'spool'));
    await createRun(nodeFileSystem, layout, RECORD);
    const directory = runDirectory(layout, RUN_ID);
    for (const path of [
      join(layout.root, '..'),
      layout.root,
      layout.runs,
      layout.wake,
      directory,
    ]) {
      expect(statSync(path).mode & 0o777).toBe(0o700);
    }
    expect(statSync(join(directory, 'run.json')).mode & 0o777).toBe(0o600);
  });

  it('survives a power cut from the moment that it is created', async () => {
    const disk = new SimulatedDisk();
    await createRun(disk, LAYOUT, RECORD);
    const visited = await visitOutcomes(500, 1, async (decide) => {
      const next = disk.afterPowerCut(decide);
      expect((await readRunRecord(next, DIRECTORY, RUN_ID)).record).toEqual(RECORD);
    });
    expect(visited).toBeGreaterThan(0);
  });

  it('is never seen without its record, whenever it is killed or the power cut', async () => {
    let points = 0;
    for (let operations = 0; ; operations += 1) {
      const disk = await stoppedAfter(operations);
      if (disk === undefined) break;
      const check = async (next: SimulatedDisk): Promise<void> => {
        points += 1;
        for (const id of await listRuns(next, LAYOUT)) {
          expect(await readRunRecord(next, DIRECTORY, id)).toMatchObject({ kind: 'record' });
        }
        await createRun(next, LAYOUT, SECOND);
        await visitOutcomes(5, operations, async (decide) => {
          const later = next.afterPowerCut(decide);
          expect(await listRuns(later, LAYOUT)).toContain(SECOND.id);
        });
      };
      await check(disk.afterKill());
      await visitOutcomes(200, operations, (decide) => check(disk.afterPowerCut(decide)));
    }
    expect(points).toBeGreaterThan(20);
  });

  it.each(['create', 'append', 'datasync', 'rename', 'syncDirectory'])(
    'leaves nothing of it behind when the %s fails',
    async (kind) => {
      const disk = new SimulatedDisk();
      await createRun(disk, LAYOUT, SECOND);
      const before = disk.files();
      disk.faultOf = (operation) =>
        operation.kind === kind ? { code: 'ENOSPC', writtenBytes: 3 } : undefined;
      const error = await failureOf(createRun(disk, LAYOUT, RECORD));
      expect(error.code).toBe('spool-unusable');
      expect(error.hint).toContain('make room');
      expect(disk.files()).toEqual(before);
      expect(disk.openFiles).toBe(0);
    },
  );
});

describe('a spool that cannot be used', () => {
  it.each([
    ['ENOSPC', 'make room'],
    ['EDQUOT', 'make room'],
    ['EACCES', 'that you may write to'],
    ['EPERM', 'that you may write to'],
    ['EROFS', 'that you may write to'],
    ['EIO', 'choose another directory'],
  ])('is refused with what to do about %s', async (code, hint) => {
    const disk = new SimulatedDisk();
    disk.faultOf = ({ kind }) => (kind === 'makeDirectory' ? { code } : undefined);
    const error = await failureOf(createRun(disk, LAYOUT, RECORD));
    expect(error.code).toBe('spool-unusable');
    expect(error.message).toMatch(/^cannot use the spool \/spool: /);
    expect(error.hint).toContain(hint);
    expect(error.hint).toContain('--spool');
  });

  it('is refused when it is a file, or below one', async () => {
    const root = temporaryDirectory();
    writeFileSync(join(root, 'file'), 'x');
    for (const path of [join(root, 'file'), join(root, 'file', 'spool')]) {
      const error = await failureOf(createRun(nodeFileSystem, spoolLayout(path), RECORD));
      expect(error.hint).toContain('that path is a file');
    }
  });

  it.skipIf(process.getuid?.() === 0)('is refused when we may not write to it', async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'spool'));
    chmodSync(join(root, 'spool'), 0o500);
    const layout = spoolLayout(join(root, 'spool'));
    const error = await failureOf(createRun(nodeFileSystem, layout, RECORD));
    expect(error.hint).toContain('that you may write to');
    expect(readdirSync(layout.root)).toEqual([]);
  });
});

describe('removeLeftovers', () => {
  it('removes what a killed start has left, and nothing of a living one', async () => {
    for (let operations = 0; ; operations += 1) {
      const disk = await stoppedAfter(operations);
      if (disk === undefined) break;
      const next = disk.afterKill();
      await removeLeftovers(next, LAYOUT, () => false);
      expect(next.files()).toEqual(disk.files());
      await removeLeftovers(next, LAYOUT, () => true);
      const isNamed = disk.files().includes(`${PREPARED}/run.json`);
      if (isNamed) expect(next.files()).toEqual([]);
      else expect(next.files()).toEqual(disk.files());
    }
  });

  it('leaves finished runs and foreign files alone', async () => {
    const disk = new SimulatedDisk();
    await createRun(disk, LAYOUT, RECORD);
    await disk.makeDirectory(`${LAYOUT.runs}/foreign.tmp`);
    const before = disk.files();
    await removeLeftovers(disk, LAYOUT, () => true);
    expect(disk.files()).toEqual(before);
    expect(await disk.list(LAYOUT.runs)).toContain('foreign.tmp');
  });

  it('removes bells of runs that are gone, and no other', async () => {
    const disk = new SimulatedDisk();
    await createRun(disk, LAYOUT, RECORD);
    await hangBell(disk, LAYOUT, SECOND.id);
    await disk.create(`${LAYOUT.wake}/foreign`).close();
    await removeLeftovers(disk, LAYOUT, () => false);
    expect((await disk.list(LAYOUT.wake)).sort()).toEqual([RUN_ID, 'foreign']);
  });

  it('is not stopped by what it cannot read or remove', async () => {
    const disk = new SimulatedDisk();
    await createRun(disk, LAYOUT, RECORD);
    await disk.create(`${LAYOUT.runs}/a file.tmp`).close();
    for (const id of [SECOND.id, RUN_ID.replace(/.$/, '2')]) await hangBell(disk, LAYOUT, id);
    disk.faultOf = ({ kind, path }) =>
      kind === 'unlink' && path.endsWith(SECOND.id) ? { code: 'EACCES' } : undefined;
    await removeLeftovers(disk, LAYOUT, () => true);
    expect((await disk.list(LAYOUT.wake)).sort()).toEqual([RUN_ID, SECOND.id]);
    expect(disk.files()).toContain(`${LAYOUT.runs}/a file.tmp`);
  });

  it('has nothing to do where there is no spool', async () => {
    const disk = new SimulatedDisk();
    await removeLeftovers(disk, LAYOUT, () => true);
    expect(disk.files()).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { hangBell } from '../../src/spool/bell.js';
import { listRun, listRuns, type SealedSegment } from '../../src/spool/listing.js';
import { NO_MARKS, writeMarks } from '../../src/spool/marks.js';
import { removeRun, removeSegments } from '../../src/spool/removal.js';
import { writeRunRecord } from '../../src/spool/run-record.js';
import { withCode } from '../support/file-system-suite.js';
import type { SimulatedDisk } from '../support/simulated-disk.js';
import { DIRECTORY, diskWithRun, LAYOUT, RECORD, RUN_ID } from '../support/simulated-run.js';

const NAMES = ['stdout-000000000001-000000000002.seg', 'stdout-000000000003-000000000004.seg'];

async function diskWithSegments(): Promise<SimulatedDisk> {
  const disk = await diskWithRun();
  for (const name of NAMES) {
    const file = disk.create(`${DIRECTORY}/${name}`);
    file.append([Buffer.from('x')]);
    await file.close();
  }
  return disk.afterKill();
}

async function segmentsOn(disk: SimulatedDisk): Promise<readonly SealedSegment[]> {
  return (await listRun(disk, DIRECTORY)).sealed.get('stdout') ?? [];
}

/** A finished run with everything that can lie in it. */
async function finishedRun(): Promise<SimulatedDisk> {
  const disk = await diskWithRun();
  await writeRunRecord(disk, DIRECTORY, RECORD);
  await writeMarks(disk, DIRECTORY, NO_MARKS);
  await hangBell(disk, LAYOUT, RUN_ID);
  for (const name of ['run.json.tmp', 'marks.json.tmp']) {
    await disk.create(`${DIRECTORY}/${name}`).close();
  }
  for (const name of ['writer.lock', 'uploader.lock', 'uploader.lock.owner-0.json.tmp']) {
    await disk.makeDirectory(`${DIRECTORY}/${name}`);
    await disk.create(`${DIRECTORY}/${name}/owner-0123456789abcdef.json`).close();
  }
  return disk.afterKill();
}

describe('removeSegments', () => {
  it('removes what was acknowledged, and syncs the directory once', async () => {
    const disk = await diskWithSegments();
    const segments = await segmentsOn(disk);
    const before = disk.lines.length;
    await removeSegments(disk, DIRECTORY, segments);
    expect(disk.files()).toEqual([]);
    expect(disk.lines.slice(before)).toEqual([
      ...NAMES.map((name) => `unlink ${DIRECTORY}/${name}`),
      `syncDirectory ${DIRECTORY}`,
    ]);
  });

  it('takes what is missing for a success', async () => {
    const disk = await diskWithSegments();
    const segments = await segmentsOn(disk);
    await disk.unlink(`${DIRECTORY}/${NAMES[0]!}`);
    await removeSegments(disk, DIRECTORY, segments);
    expect(disk.files()).toEqual([]);
  });

  it('touches nothing when there is nothing to remove', async () => {
    const disk = await diskWithSegments();
    await removeSegments(disk, DIRECTORY, []);
    expect(disk.trace).toEqual([]);
  });

  it('needs no room and no new file', async () => {
    const disk = await diskWithSegments();
    disk.roomBytes = 0;
    await removeSegments(disk, DIRECTORY, await segmentsOn(disk));
    expect(disk.trace.filter(({ kind }) => /create|append/.test(kind))).toEqual([]);
    expect(disk.roomBytes).toBe(NAMES.length);
  });

  it('says what it cannot remove, and leaves the rest', async () => {
    const disk = await diskWithSegments();
    const segments = await segmentsOn(disk);
    disk.faultOf = ({ kind }) => (kind === 'unlink' ? { code: 'EROFS' } : undefined);
    await expect(removeSegments(disk, DIRECTORY, segments)).rejects.toThrow(withCode('EROFS'));
    expect(disk.files()).toHaveLength(2);
  });
});

describe('removeRun', () => {
  it('leaves nothing of the run', async () => {
    const disk = await finishedRun();
    await removeRun(disk, LAYOUT, RUN_ID);
    expect(disk.files()).toEqual([]);
    expect(await disk.list(LAYOUT.runs)).toEqual([]);
    expect(disk.trace.filter(({ kind }) => /create|append/.test(kind))).toEqual([]);
  });

  it('can be killed at any moment, and done again', async () => {
    for (let stopAfter = 0; ; stopAfter += 1) {
      const disk = await finishedRun();
      disk.stopAfter = stopAfter;
      const isDone = await removeRun(disk, LAYOUT, RUN_ID).then(
        () => true,
        () => false,
      );
      const next = disk.afterKill();
      // The record goes after the marks, so that what is left of a run is never taken for a new
      // one.
      const files = next.files();
      if (files.includes(`${DIRECTORY}/marks.json`)) {
        expect(files).toContain(`${DIRECTORY}/run.json`);
      }
      await removeRun(next, LAYOUT, RUN_ID);
      expect(next.files()).toEqual([]);
      expect(await listRuns(next, LAYOUT)).toEqual([]);
      if (isDone) break;
      expect(stopAfter).toBeLessThan(100);
    }
  });

  it('is a success when the run is gone', async () => {
    const disk = await diskWithRun();
    await disk.removeDirectory(DIRECTORY);
    await removeRun(disk, LAYOUT, RUN_ID);
  });

  it('leaves a foreign file, and the directory that it is in', async () => {
    const disk = await finishedRun();
    await disk.create(`${DIRECTORY}/notes.txt`).close();
    await removeRun(disk, LAYOUT, RUN_ID);
    expect(disk.files()).toEqual([`${DIRECTORY}/notes.txt`]);
  });

  it('never removes a segment', async () => {
    const disk = await finishedRun();
    for (const name of NAMES) await disk.create(`${DIRECTORY}/${name}`).close();
    await removeRun(disk, LAYOUT, RUN_ID);
    expect(disk.files()).toEqual(NAMES.map((name) => `${DIRECTORY}/${name}`));
  });

  it('lets a rival keep the lock that it takes in the last instant', async () => {
    const disk = await finishedRun();
    const lock = `${DIRECTORY}/uploader.lock`;
    disk.faultOf = ({ kind, path }) => {
      if (kind === 'removeDirectory' && path === lock) disk.create(`${lock}/owner-rival.json`);
      return undefined;
    };
    await removeRun(disk, LAYOUT, RUN_ID);
    expect(disk.files()).toContain(`${lock}/owner-rival.json`);
    expect(disk.files()).not.toContain(`${DIRECTORY}/run.json`);
  });

  it('says when the disk fails', async () => {
    const disk = await finishedRun();
    disk.faultOf = ({ kind }) => (kind === 'removeDirectory' ? { code: 'EIO' } : undefined);
    await expect(removeRun(disk, LAYOUT, RUN_ID)).rejects.toThrow(withCode('EIO'));
  });
});

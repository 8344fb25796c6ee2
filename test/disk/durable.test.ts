import { describe, expect, it } from 'vitest';
import {
  commitFile,
  isTemporary,
  listIfPresent,
  makeDirectories,
  readIfPresent,
  removeDirectoryOfFiles,
  removeEmptyDirectory,
  removeFile,
  type CommitMode,
} from '../../src/disk/durable.js';
import { withCode } from '../support/file-system-suite.js';
import { SimulatedDisk } from '../support/simulated-disk.js';
import { visitOutcomes } from '../support/simulated-outcomes.js';

/** A disk with one synced file. */
async function diskWith(path: string, text: string): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await commitFile(disk, path, Buffer.from(text));
  return disk.afterKill();
}

async function textOf(disk: SimulatedDisk, path: string): Promise<string | undefined> {
  return (await readIfPresent(disk, path))?.toString();
}

describe('commitFile', () => {
  it('syncs the bytes before the rename, and the directory after it', async () => {
    const disk = new SimulatedDisk();
    await commitFile(disk, '/a', Buffer.from('new'));
    expect(disk.lines.filter((line) => !line.startsWith('unlink'))).toEqual([
      'create /a.tmp',
      'append /a.tmp',
      'datasync /a.tmp',
      'rename /a.tmp',
      'syncDirectory /',
    ]);
    expect(await textOf(disk, '/a')).toBe('new');
    expect(disk.files()).toEqual(['/a']);
    expect(disk.openFiles).toBe(0);
  });

  it('syncs nothing where a power cut may take the newest', async () => {
    const disk = new SimulatedDisk();
    await commitFile(disk, '/a', Buffer.from('new'), 'atomic');
    expect(disk.lines.filter((line) => line.includes('sync'))).toEqual([]);
  });

  it.each<[CommitMode, number]>([
    ['durable', 6],
    ['atomic', 4],
  ])(
    'leaves the old content or the new one when it is killed at any moment: %s',
    async (mode, operations) => {
      for (let stopAfter = 0; stopAfter < operations; stopAfter += 1) {
        for (const stopWithBytes of [0, 1, 2]) {
          const disk = await diskWith('/a', 'old');
          Object.assign(disk, { stopAfter, stopWithBytes });
          await expect(commitFile(disk, '/a', Buffer.from('new'), mode)).rejects.toThrow();
          const next = disk.afterKill();
          expect(['old', 'new']).toContain(await textOf(next, '/a'));
          await commitFile(next, '/a', Buffer.from('newer'), mode);
          expect(await textOf(next, '/a')).toBe('newer');
          expect(next.files()).toEqual(['/a']);
        }
      }
    },
  );

  it('leaves the old content or the new one when the power is cut at any moment', async () => {
    for (let stopAfter = 0; stopAfter <= 6; stopAfter += 1) {
      const disk = await diskWith('/a', 'old');
      disk.stopAfter = stopAfter;
      await commitFile(disk, '/a', Buffer.from('new')).catch(() => undefined);
      await visitOutcomes(200, stopAfter, async (decide) => {
        const text = await textOf(disk.afterPowerCut(decide), '/a');
        expect(stopAfter === 6 ? ['new'] : ['old', 'new']).toContain(text);
      });
    }
  });

  it.each(['create', 'append', 'datasync', 'rename'])(
    'leaves the old content when the %s fails, and succeeds the next time',
    async (kind) => {
      const disk = await diskWith('/a', 'old');
      disk.faultOf = (operation) =>
        operation.kind === kind ? { code: 'EIO', writtenBytes: 1 } : undefined;
      await expect(commitFile(disk, '/a', Buffer.from('new'))).rejects.toThrow(withCode('EIO'));
      expect(await textOf(disk.afterKill(), '/a')).toBe('old');
      expect(disk.openFiles).toBe(0);
      disk.faultOf = () => undefined;
      await commitFile(disk, '/a', Buffer.from('new'));
      expect(await textOf(disk, '/a')).toBe('new');
    },
  );
});

describe('removeFile and removeEmptyDirectory', () => {
  it('take what is missing for a success, and say so', async () => {
    const disk = await diskWith('/a', 'x');
    expect(await removeFile(disk, '/a')).toBe(true);
    expect(await removeFile(disk, '/a')).toBe(false);
    await disk.makeDirectory('/d');
    expect(await removeEmptyDirectory(disk, '/d')).toBe(true);
    expect(await removeEmptyDirectory(disk, '/d')).toBe(false);
  });

  it('fail for any other reason', async () => {
    const disk = await diskWith('/a', 'x');
    disk.faultOf = () => ({ code: 'EROFS' });
    await expect(removeFile(disk, '/a')).rejects.toThrow(withCode('EROFS'));
    await expect(removeEmptyDirectory(disk, '/a')).rejects.toThrow(withCode('EROFS'));
  });
});

describe('makeDirectories', () => {
  const isChange = (line: string): boolean => !line.startsWith('stat');

  it('makes the missing ones, and syncs the parent of each', async () => {
    const disk = new SimulatedDisk();
    await makeDirectories(disk, '/a/b');
    expect(disk.lines.filter(isChange)).toEqual([
      'syncDirectory /',
      'makeDirectory /a',
      'syncDirectory /',
      'makeDirectory /a/b',
      'syncDirectory /a',
    ]);
  });

  it('does nothing when all are there', async () => {
    const disk = new SimulatedDisk();
    await makeDirectories(disk, '/a/b');
    const before = disk.lines.length;
    await makeDirectories(disk, '/a/b');
    expect(disk.lines.slice(before).filter(isChange)).toEqual([]);
  });

  it('makes durable what a killed process has made, whenever that was', async () => {
    for (let stopAfter = 0; stopAfter < 20; stopAfter += 1) {
      const disk = new SimulatedDisk();
      disk.stopAfter = stopAfter;
      await makeDirectories(disk, '/a/b/c').catch(() => undefined);
      const next = disk.afterKill();
      await makeDirectories(next, '/a/b/c/d');
      await visitOutcomes(100, stopAfter, async (decide) => {
        const found = await next.afterPowerCut(decide).stat('/a/b/c/d');
        expect(found).toMatchObject({ kind: 'directory' });
      });
    }
  });

  it('does not need to read the directory above the one that it creates in', async () => {
    const disk = new SimulatedDisk();
    await makeDirectories(disk, '/home/me');
    disk.faultOf = ({ kind, path }) =>
      kind === 'syncDirectory' && path === '/home' ? { code: 'EACCES' } : undefined;
    await makeDirectories(disk, '/home/me/spool');
    expect(await disk.list('/home/me')).toEqual(['spool']);
  });

  it('finds what another process has made at the same moment', async () => {
    const disk = new SimulatedDisk();
    await Promise.all([makeDirectories(disk, '/a/b'), makeDirectories(disk, '/a/b')]);
    expect(await disk.stat('/a/b')).toMatchObject({ kind: 'directory' });
  });

  it('fails where a file is in the way', async () => {
    const disk = await diskWith('/a', 'x');
    await expect(makeDirectories(disk, '/a')).rejects.toThrow(withCode('EEXIST'));
    await expect(makeDirectories(disk, '/a/b')).rejects.toThrow(withCode('ENOTDIR'));
  });
});

describe('removeDirectoryOfFiles', () => {
  it('removes the files and the directory, also when some are gone already', async () => {
    const disk = new SimulatedDisk();
    await disk.makeDirectory('/d');
    for (const name of ['a', 'b']) await disk.create(`/d/${name}`).close();
    await removeDirectoryOfFiles(disk, '/d');
    expect(await disk.list('/')).toEqual([]);
    await removeDirectoryOfFiles(disk, '/d');
  });

  it('leaves what somebody puts there meanwhile', async () => {
    const disk = new SimulatedDisk();
    await disk.makeDirectory('/d');
    disk.faultOf = ({ kind }) => {
      if (kind === 'removeDirectory') disk.create('/d/new');
      return undefined;
    };
    await expect(removeDirectoryOfFiles(disk, '/d')).rejects.toThrow(withCode('ENOTEMPTY'));
  });
});

describe('listIfPresent and readIfPresent', () => {
  it('find nothing where nothing is', async () => {
    const disk = new SimulatedDisk();
    expect(await listIfPresent(disk, '/d')).toEqual([]);
    expect(await readIfPresent(disk, '/a')).toBeUndefined();
  });

  it('fail for any other reason', async () => {
    const disk = new SimulatedDisk();
    disk.faultOf = () => ({ code: 'EACCES' });
    await expect(listIfPresent(disk, '/')).rejects.toThrow(withCode('EACCES'));
    await expect(readIfPresent(disk, '/a')).rejects.toThrow(withCode('EACCES'));
  });
});

describe('isTemporary', () => {
  it('knows unfinished files by their ending', () => {
    expect(isTemporary('/a/run.json.tmp')).toBe(true);
    expect(isTemporary('/a.tmp/run.json')).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { describeFileSystem, withCode } from './file-system-suite.js';
import { SimulatedDisk } from './simulated-disk.js';
import { randomFrom, visitOutcomes } from './simulated-outcomes.js';

describeFileSystem('the simulated disk', () => ({ fs: new SimulatedDisk(), root: '/' }));

/** Every text that a file can have after a power cut; `undefined` where it can be missing. */
async function outcomesOf(disk: SimulatedDisk, path: string): Promise<Set<string | undefined>> {
  const found = new Set<string | undefined>();
  await visitOutcomes(10_000, 1, (decide) => {
    const next = disk.afterPowerCut(decide);
    found.add(next.files().includes(path) ? next.bytesOf(path).toString('latin1') : undefined);
  });
  return found;
}

describe('a kill', () => {
  it('stops everything after the chosen operation, and keeps what was done', async () => {
    const disk = new SimulatedDisk();
    disk.stopAfter = 2;
    const file = disk.create('/a');
    file.append([Buffer.from('x')]);
    expect(() => file.append([Buffer.from('y')])).toThrow(withCode('ESTOPPED'));
    await expect(disk.list('/')).rejects.toThrow(withCode('ESTOPPED'));
    expect(disk.afterKill().bytesOf('/a').toString()).toBe('x');
    expect(disk.lines).toEqual(['create /a', 'append /a']);
  });

  it('may hit an append half way', () => {
    const disk = new SimulatedDisk();
    disk.stopAfter = 1;
    disk.stopWithBytes = 2;
    const file = disk.create('/a');
    for (const text of ['abc', 'def']) {
      expect(() => file.append([Buffer.from(text)])).toThrow(withCode('ESTOPPED'));
    }
    expect(disk.afterKill().bytesOf('/a').toString()).toBe('ab');
  });

  it('leaves what was not synced to the next power cut', async () => {
    const disk = new SimulatedDisk();
    disk.create('/a');
    expect(await outcomesOf(disk.afterKill(), '/a')).toEqual(new Set(['', undefined]));
  });
});

describe('a power cut', () => {
  it('keeps what was synced', async () => {
    const disk = new SimulatedDisk();
    const file = disk.create('/a');
    file.append([Buffer.from('x')]);
    await file.datasync();
    await disk.syncDirectory('/');
    expect(await outcomesOf(disk, '/a')).toEqual(new Set(['x']));
  });

  it('drops, zeroes or tears bytes that were not synced, at any byte', async () => {
    const disk = new SimulatedDisk();
    const file = disk.create('/a');
    file.append([Buffer.from('ab')]);
    await file.datasync();
    await disk.syncDirectory('/');
    file.append([Buffer.from('cd')]);
    expect(await outcomesOf(disk, '/a')).toEqual(new Set(['ab', 'abc', 'abcd', 'ab\0\0']));
  });

  it('loses any sector of many', async () => {
    const disk = new SimulatedDisk();
    const file = disk.create('/a');
    await disk.syncDirectory('/');
    file.append(['1', '2', '3'].map((byte) => Buffer.alloc(512, byte)));
    const outcomes = [...(await outcomesOf(disk, '/a'))].map((text) =>
      [0, 512, 1024].map((at) => text?.[at] ?? '').join(''),
    );
    for (const sectors of ['', '123', '1\x003', '\x0023', '1\0\0', '12']) {
      expect(outcomes).toContain(sectors);
    }
  });

  it('undoes any creation, renaming or removal whose directory was not synced', async () => {
    const disk = new SimulatedDisk();
    for (const [path, text] of [
      ['/a', 'old'],
      ['/a.tmp', 'new'],
    ] as const) {
      const file = disk.create(path);
      file.append([Buffer.from(text)]);
      await file.datasync();
    }
    await disk.syncDirectory('/');
    await disk.rename('/a.tmp', '/a');
    expect(await outcomesOf(disk, '/a')).toEqual(new Set(['old', 'new']));
    await disk.unlink('/a');
    expect(await outcomesOf(disk, '/a')).toEqual(new Set(['old', 'new', undefined]));
    await disk.syncDirectory('/');
    expect(await outcomesOf(disk, '/a')).toEqual(new Set([undefined]));
  });

  it('takes a directory that was not synced into its parent with all that is in it', async () => {
    const disk = new SimulatedDisk();
    await disk.makeDirectory('/d');
    await disk.create('/d/a').datasync();
    await disk.syncDirectory('/d');
    expect(await outcomesOf(disk, '/d/a')).toEqual(new Set(['', undefined]));
  });
});

describe('a fault', () => {
  it('fails the chosen operation, and changes nothing', async () => {
    const disk = new SimulatedDisk();
    disk.faultOf = ({ kind }) => (kind === 'rename' ? { code: 'EROFS' } : undefined);
    await disk.create('/a').close();
    await expect(disk.rename('/a', '/b')).rejects.toThrow(withCode('EROFS'));
    expect(disk.files()).toEqual(['/a']);
  });

  it('may leave a part of an append behind', () => {
    const disk = new SimulatedDisk();
    disk.faultOf = ({ kind }) => (kind === 'append' ? { code: 'EIO', writtenBytes: 2 } : undefined);
    const file = disk.create('/a');
    expect(() => file.append([Buffer.from('abc')])).toThrow(withCode('EIO'));
    expect(disk.bytesOf('/a').toString()).toBe('ab');
  });

  it('of a sync loses the bytes for good, also when the next sync succeeds', async () => {
    const disk = new SimulatedDisk();
    const file = disk.create('/a');
    await disk.syncDirectory('/');
    file.append([Buffer.from('abc')]);
    disk.faultOf = ({ number }) => (number === 4 ? { code: 'EIO' } : undefined);
    await expect(file.datasync()).rejects.toThrow(withCode('EIO'));
    await file.datasync();
    expect(disk.bytesOf('/a').toString()).toBe('abc');
    expect(await outcomesOf(disk, '/a')).toEqual(new Set(['\0\0\0']));
  });

  it('comes by itself when there is no more room, until something is removed', async () => {
    const disk = new SimulatedDisk();
    disk.roomBytes = 3;
    await disk.create('/a').appendAsync([Buffer.from('ab')]);
    const file = disk.create('/b');
    expect(() => file.append([Buffer.from('xyz')])).toThrow(withCode('ENOSPC'));
    expect(disk.bytesOf('/b').toString()).toBe('x');
    await disk.unlink('/a');
    file.append([Buffer.from('yz')]);
    expect(disk.bytesOf('/b').toString()).toBe('xyz');
  });
});

describe('visitOutcomes', () => {
  it('visits every path through the decisions once', async () => {
    const paths: string[] = [];
    const count = await visitOutcomes(100, 1, (decide) => {
      const first = decide(2);
      paths.push(first === 0 ? '0' : `1${String(decide(3))}`);
    });
    expect(paths).toEqual(['0', '10', '11', '12']);
    expect(count).toBe(4);
  });

  it('takes seeded samples where there are too many', async () => {
    const visit = async (seed: number): Promise<string[]> => {
      const paths: string[] = [];
      await visitOutcomes(5, seed, (decide) => {
        paths.push(Array.from({ length: 20 }, () => decide(2)).join(''));
      });
      return paths;
    };
    expect(await visit(1)).toEqual(await visit(1));
    expect(await visit(1)).not.toEqual(await visit(2));
    expect((await visit(1)).length).toBe(10);
  });
});

describe('randomFrom', () => {
  it('draws evenly from 0 to 1', () => {
    const random = randomFrom(7);
    const counts = [0, 0, 0, 0];
    for (let draw = 0; draw < 4000; draw += 1) counts[Math.floor(random() * 4)]! += 1;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});

import nodeFs, { readFileSync, statSync, symlinkSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AppendFile } from '../../src/disk/file-system.js';
import { nodeFileSystem as fs } from '../../src/disk/node-file-system.js';
import { bundleProgram, startProgram } from '../support/child-program.js';
import { describeFileSystem, withCode } from '../support/file-system-suite.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describeFileSystem('the real disk', () => ({ fs, root: temporaryDirectory() }));

afterEach(() => {
  vi.restoreAllMocks();
});

/** Lets each system call write only so many bytes, as a kernel may; 0 means that it fails. */
function writeAtMost(...limits: number[]): void {
  const next = (buffers: readonly NodeJS.ArrayBufferView[]): Uint8Array => {
    const limit = limits.length > 1 ? limits.shift()! : limits[0]!;
    if (limit === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    return Buffer.concat(buffers as Uint8Array[]).subarray(0, limit);
  };
  const { writevSync } = nodeFs;
  vi.spyOn(nodeFs, 'writevSync').mockImplementation((fd, buffers) =>
    writevSync(fd, [next(buffers)]),
  );
  vi.spyOn(nodeFs, 'writev').mockImplementation(((
    fd: number,
    buffers: readonly Uint8Array[],
    done: (error: unknown, written?: number) => void,
  ) => {
    try {
      done(null, writevSync(fd, [next(buffers)]));
    } catch (error) {
      done(error);
    }
  }) as typeof nodeFs.writev);
}

describe('an append', () => {
  const parts = ['first ', '', 'second part ', 'third'].map((text) => Buffer.from(text));
  const whole = Buffer.concat(parts).toString();
  const ways: [string, (file: AppendFile) => void | Promise<void>][] = [
    ['at once', (file) => file.append(parts)],
    ['in the background', (file) => file.appendAsync(parts)],
  ];

  it.each(ways)('goes on after short writes, wherever they end, %s', async (_, append) => {
    for (let limit = 1; limit <= whole.length; limit += 1) {
      const path = join(temporaryDirectory(), 'file');
      writeAtMost(limit);
      const file = fs.create(path);
      await append(file);
      await file.close();
      expect(readFileSync(path, 'utf8')).toBe(whole);
      vi.restoreAllMocks();
    }
  });

  it.each(ways)('says that it failed after a part was written, %s', async (_, append) => {
    const path = join(temporaryDirectory(), 'file');
    writeAtMost(8, 0);
    const file = fs.create(path);
    await expect((async () => append(file))()).rejects.toThrow(withCode('ENOSPC'));
    await file.close();
    expect(readFileSync(path, 'utf8')).toBe('first se');
  });
});

describe('what is created', () => {
  it.each(['000', '022', '077', '777'])(
    'is private to its owner, and open to him, with umask %s',
    async (umask) => {
      const program = startProgram(await bundleProgram('umask-program'), [
        temporaryDirectory(),
        umask,
      ]);
      expect(await program.nextLine()).toBe('700 700 600');
    },
  );
});

describe('measure and stat', () => {
  it('take links, FIFOs and directories for no files, and follow none', async () => {
    const root = temporaryDirectory();
    await fs.create(join(root, 'file')).close();
    await fs.makeDirectory(join(root, 'directory'));
    symlinkSync(join(root, 'file'), join(root, 'link'));
    symlinkSync(join(root, 'nowhere'), join(root, 'dangling'));
    expect(spawnSync('mkfifo', [join(root, 'fifo')]).status).toBe(0);
    expect(await fs.measure(root)).toEqual([{ name: 'file', sizeBytes: 0 }]);
    for (const name of ['link', 'dangling', 'fifo']) {
      expect(await fs.stat(join(root, name))).toMatchObject({ kind: 'other' });
    }
  });

  it('give everybody else a turn in a folder of thousands', async () => {
    const root = temporaryDirectory();
    for (let index = 0; index < 2500; index += 1) {
      nodeFs.writeFileSync(join(root, String(index)), '');
    }
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    const names = nodeFs.readdirSync(root);
    vi.spyOn(nodeFs.promises, 'readdir').mockImplementation((async () => {
      setImmediate(count);
      return names;
    }) as unknown as typeof nodeFs.promises.readdir);
    expect(await fs.measure(root)).toHaveLength(2500);
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(2);
  });

  it('leave out files that vanish meanwhile', async () => {
    const root = temporaryDirectory();
    await fs.create(join(root, 'file')).close();
    vi.spyOn(nodeFs.promises, 'readdir').mockImplementation((async () => [
      'file',
      'gone',
    ]) as unknown as typeof nodeFs.promises.readdir);
    expect(await fs.measure(root)).toEqual([{ name: 'file', sizeBytes: 0 }]);
  });
});

describe('a directory', () => {
  it('is private from its first moment', async () => {
    const path = join(temporaryDirectory(), 'd');
    await fs.makeDirectory(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });
});

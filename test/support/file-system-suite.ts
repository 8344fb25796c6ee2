import { beforeEach, describe, expect, it } from 'vitest';
import type { FileSystem } from '../../src/disk/file-system.js';

/** A file system, and an existing empty directory on it. */
export interface FileSystemUnderTest {
  readonly fs: FileSystem;
  readonly root: string;
}

/** What every implementation of the seam does alike. */
export function describeFileSystem(name: string, make: () => FileSystemUnderTest): void {
  describe(`${name} as a file system`, () => {
    let fs: FileSystem;
    let root: string;

    beforeEach(() => {
      ({ fs, root } = make());
    });

    const write = async (path: string, ...parts: string[]): Promise<void> => {
      const file = fs.create(path);
      for (const part of parts) file.append([Buffer.from(part)]);
      await file.close();
    };
    const textOf = async (path: string): Promise<string> => (await fs.readFile(path)).toString();

    describe('files', () => {
      it('are created once', async () => {
        await write(`${root}/a`, 'x');
        expect(() => fs.create(`${root}/a`)).toThrow(withCode('EEXIST'));
        expect(() => fs.create(`${root}/none/a`)).toThrow(withCode('ENOENT'));
        expect(await textOf(`${root}/a`)).toBe('x');
      });

      it('take all parts of an append, in order', async () => {
        const file = fs.create(`${root}/a`);
        file.append(['one ', '', 'two '].map((text) => Buffer.from(text)));
        await file.appendAsync([Buffer.from('three '), Buffer.from('four')]);
        file.append([]);
        await file.close();
        expect(await textOf(`${root}/a`)).toBe('one two three four');
      });

      it('are continued at their end', async () => {
        await write(`${root}/a`, 'one ');
        const file = fs.openAppend(`${root}/a`);
        file.append([Buffer.from('two')]);
        await file.close();
        expect(await textOf(`${root}/a`)).toBe('one two');
        expect(() => fs.openAppend(`${root}/none`)).toThrow(withCode('ENOENT'));
      });

      it('are cut, and go on from there', async () => {
        const file = fs.create(`${root}/a`);
        file.append([Buffer.from('12345678')]);
        await file.truncate(5);
        file.append([Buffer.from('x')]);
        file.truncateNow(3);
        file.append([Buffer.from('y')]);
        await file.close();
        expect(await textOf(`${root}/a`)).toBe('123y');
      });

      it('can be synced', async () => {
        const file = fs.create(`${root}/a`);
        file.append([Buffer.from('x')]);
        file.datasyncNow();
        await file.datasync();
        await file.close();
        expect(await textOf(`${root}/a`)).toBe('x');
      });

      it('refuse everything once they are closed', async () => {
        const file = fs.create(`${root}/a`);
        await file.close();
        expect(() => file.append([Buffer.from('x')])).toThrow(withCode('EBADF'));
        expect(() => file.datasyncNow()).toThrow(withCode('EBADF'));
        expect(() => file.truncateNow(0)).toThrow(withCode('EBADF'));
        await expect(file.appendAsync([Buffer.from('x')])).rejects.toThrow(withCode('EBADF'));
        await expect(file.datasync()).rejects.toThrow(withCode('EBADF'));
        await expect(file.truncate(0)).rejects.toThrow(withCode('EBADF'));
        await expect(file.close()).rejects.toThrow(withCode('EBADF'));
      });

      it('are read from any position, up to their end', async () => {
        await write(`${root}/a`, '0123456789');
        const file = await fs.openRead(`${root}/a`);
        const target = Buffer.alloc(4);
        expect(file.size).toBe(10);
        expect(await file.read(target, 2)).toBe(4);
        expect(target.toString()).toBe('2345');
        expect(await file.read(target, 8)).toBe(2);
        expect(target.toString()).toBe('8945');
        expect(await file.read(target, 10)).toBe(0);
        expect(await file.read(target, 1000)).toBe(0);
        await file.close();
        await expect(fs.openRead(`${root}/none`)).rejects.toThrow(withCode('ENOENT'));
        await expect(fs.readFile(`${root}/none`)).rejects.toThrow(withCode('ENOENT'));
      });

      it('stay readable and writable under a new name, and after the last one', async () => {
        const written = fs.create(`${root}/a`);
        await fs.rename(`${root}/a`, `${root}/b`);
        written.append([Buffer.from('x')]);
        expect(await textOf(`${root}/b`)).toBe('x');
        const read = await fs.openRead(`${root}/b`);
        await fs.unlink(`${root}/b`);
        written.append([Buffer.from('y')]);
        const target = Buffer.alloc(2);
        expect(await read.read(target, 0)).toBe(2);
        expect(target.toString()).toBe('xy');
        await read.close();
        await written.close();
      });
    });

    describe('names', () => {
      it('are listed and measured', async () => {
        await write(`${root}/a`, '12345');
        await write(`${root}/b`);
        await fs.makeDirectory(`${root}/d`);
        expect((await fs.list(root)).sort()).toEqual(['a', 'b', 'd']);
        expect(byName(await fs.measure(root))).toEqual([
          { name: 'a', sizeBytes: 5 },
          { name: 'b', sizeBytes: 0 },
        ]);
        await expect(fs.list(`${root}/none`)).rejects.toThrow(withCode('ENOENT'));
        await expect(fs.list(`${root}/a`)).rejects.toThrow(withCode('ENOTDIR'));
        await expect(fs.measure(`${root}/none`)).rejects.toThrow(withCode('ENOENT'));
        await expect(fs.measure(`${root}/a`)).rejects.toThrow(withCode('ENOTDIR'));
      });

      it('tell what they stand for', async () => {
        await write(`${root}/a`, '12345');
        expect(await fs.stat(`${root}/a`)).toEqual({ kind: 'file', sizeBytes: 5 });
        expect(await fs.stat(root)).toMatchObject({ kind: 'directory' });
        expect(await fs.stat(`${root}/none`)).toBeUndefined();
        expect(await fs.stat(`${root}/none/a`)).toBeUndefined();
        await expect(fs.stat(`${root}/a/b`)).rejects.toThrow(withCode('ENOTDIR'));
      });

      it('are changed in one step, which replaces a file', async () => {
        await write(`${root}/a`, 'new');
        await write(`${root}/b`, 'old');
        await fs.rename(`${root}/a`, `${root}/b`);
        expect(await fs.list(root)).toEqual(['b']);
        expect(await textOf(`${root}/b`)).toBe('new');
        await expect(fs.rename(`${root}/a`, `${root}/c`)).rejects.toThrow(withCode('ENOENT'));
      });

      it('are removed', async () => {
        await write(`${root}/a`);
        await fs.unlink(`${root}/a`);
        expect(await fs.list(root)).toEqual([]);
        await expect(fs.unlink(`${root}/a`)).rejects.toThrow(withCode('ENOENT'));
      });
    });

    describe('directories', () => {
      it('are made one level at a time, once', async () => {
        await fs.makeDirectory(`${root}/d`);
        await fs.makeDirectory(`${root}/d/e`);
        expect(await fs.list(`${root}/d`)).toEqual(['e']);
        await expect(fs.makeDirectory(`${root}/d`)).rejects.toThrow(withCode('EEXIST'));
        await expect(fs.makeDirectory(`${root}/x/y`)).rejects.toThrow(withCode('ENOENT'));
      });

      it('move with what is in them, and replace only an empty one', async () => {
        for (const name of ['full', 'other', 'empty']) await fs.makeDirectory(`${root}/${name}`);
        await write(`${root}/full/a`, 'x');
        await write(`${root}/other/b`);
        const onto = fs.rename(`${root}/full`, `${root}/other`);
        await expect(onto).rejects.toThrow(withCode('ENOTEMPTY'));
        await fs.rename(`${root}/full`, `${root}/empty`);
        expect(await textOf(`${root}/empty/a`)).toBe('x');
        expect((await fs.list(root)).sort()).toEqual(['empty', 'other']);
      });

      it('are removed when they are empty', async () => {
        await fs.makeDirectory(`${root}/d`);
        await write(`${root}/d/a`);
        await expect(fs.removeDirectory(`${root}/d`)).rejects.toThrow(withCode('ENOTEMPTY'));
        await fs.unlink(`${root}/d/a`);
        await fs.removeDirectory(`${root}/d`);
        await expect(fs.removeDirectory(`${root}/d`)).rejects.toThrow(withCode('ENOENT'));
      });

      it('can be synced', async () => {
        await fs.syncDirectory(root);
        fs.syncDirectoryNow(root);
        await expect(fs.syncDirectory(`${root}/none`)).rejects.toThrow(withCode('ENOENT'));
        expect(() => fs.syncDirectoryNow(`${root}/none`)).toThrow(withCode('ENOENT'));
      });
    });
  });
}

/** For `toThrow`: an error with this code. */
export function withCode(code: string): Error {
  return expect.objectContaining({ code }) as Error;
}

function byName<T extends { readonly name: string }>(files: readonly T[]): T[] {
  return [...files].sort((a, b) => a.name.localeCompare(b.name));
}

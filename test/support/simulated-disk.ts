import { basename, dirname } from 'node:path';
import type {
  AppendFile,
  FileStat,
  FileSystem,
  MeasuredFile,
  ReadFile,
} from '../../src/disk/file-system.js';
import {
  SimulatedDirectory,
  SimulatedFile,
  type Decide,
  type Node,
} from './simulated-disk-nodes.js';
import { Operations, systemError, type Operation } from './simulated-disk-operations.js';

/**
 * A disk in memory that does to a program what real ones do once in a while. The same script,
 * faults and decisions give the same disk again.
 *
 * - It stops: after a chosen operation the process is dead, and every call throws.
 * - The power is cut: any subset of what was not synced is gone, written bytes and directory
 *   entries alike.
 * - It fails: any operation with any error, an append with a part of it written.
 * - It is full: an append writes what fits, and fails.
 */
export class SimulatedDisk extends Operations implements FileSystem {
  /** Room for so many more bytes. */
  roomBytes: number = Number.POSITIVE_INFINITY;
  readonly #root: SimulatedDirectory;

  constructor(root: SimulatedDirectory = new SimulatedDirectory()) {
    super();
    this.#root = root;
  }

  /** The disk as the next process finds it when this one is killed now. */
  afterKill(): SimulatedDisk {
    return new SimulatedDisk(this.#root.copy());
  }

  /** The disk as it is found when the power is cut now. */
  afterPowerCut(decide: Decide): SimulatedDisk {
    return new SimulatedDisk(this.#root.afterPowerCut(decide));
  }

  /** Paths of all files, sorted. */
  files(path = '/'): string[] {
    return [...this.#directory(path).entries]
      .map(([name, node]) => [path === '/' ? `/${name}` : `${path}/${name}`, node.kind] as const)
      .flatMap(([inner, kind]) => (kind === 'file' ? [inner] : this.files(inner)))
      .sort();
  }

  /** The bytes of a file; no operation of the program's. */
  bytesOf(path: string): Buffer {
    return this.#file(path).bytes;
  }

  create(path: string): AppendFile {
    return this.#perform('create', path, () => {
      const parent = this.#parent(path);
      if (parent.entries.has(basename(path))) throw systemError('EEXIST', path);
      const file = new SimulatedFile();
      parent.change({ added: [basename(path), file] });
      return new OpenFile(this, file, path);
    });
  }

  openAppend(path: string): AppendFile {
    return this.#perform('openAppend', path, () => new OpenFile(this, this.#file(path), path));
  }

  async openRead(path: string): Promise<ReadFile> {
    return this.#perform('openRead', path, () => {
      const file = this.#file(path);
      this.openFiles += 1;
      return {
        size: file.bytes.length,
        read: async (target: Uint8Array, at: number) =>
          this.#perform('read', path, () => file.bytes.subarray(at).copy(target)),
        close: async () => {
          this.openFiles -= 1;
        },
      };
    });
  }

  async readFile(path: string): Promise<Buffer> {
    return this.#perform('readFile', path, () => Buffer.from(this.#file(path).bytes));
  }

  async list(path: string): Promise<string[]> {
    return this.#perform('list', path, () => [...this.#directory(path).entries.keys()]);
  }

  async measure(path: string): Promise<MeasuredFile[]> {
    return this.#perform('measure', path, () =>
      [...this.#directory(path).entries].flatMap(([name, node]) =>
        node.kind === 'file' ? [{ name, sizeBytes: node.bytes.length }] : [],
      ),
    );
  }

  async stat(path: string): Promise<FileStat | undefined> {
    return this.#perform('stat', path, () => {
      const node = this.#find(path);
      if (node === undefined) return undefined;
      return { kind: node.kind, sizeBytes: node.kind === 'file' ? node.bytes.length : 0 };
    });
  }

  async makeDirectory(path: string): Promise<void> {
    this.#perform('makeDirectory', path, () => {
      if (this.#find(path) !== undefined) throw systemError('EEXIST', path);
      this.#parent(path).change({ added: [basename(path), new SimulatedDirectory()] });
    });
  }

  async rename(from: string, to: string): Promise<void> {
    this.#perform('rename', from, () => {
      const node = this.#node(from);
      refuseToReplace(this.#find(to), node, to);
      const [source, target] = [this.#parent(from), this.#parent(to)];
      const [removed, added] = [basename(from), [basename(to), node] as const];
      if (source === target) {
        source.change({ removed, added });
      } else {
        target.change({ added });
        source.change({ removed });
      }
    });
  }

  async unlink(path: string): Promise<void> {
    this.#perform('unlink', path, () => {
      this.roomBytes += this.#file(path).bytes.length;
      this.#parent(path).change({ removed: basename(path) });
    });
  }

  async removeDirectory(path: string): Promise<void> {
    this.#perform('removeDirectory', path, () => {
      if (this.#directory(path).entries.size > 0) throw systemError('ENOTEMPTY', path);
      this.#parent(path).change({ removed: basename(path) });
    });
  }

  async syncDirectory(path: string): Promise<void> {
    this.#perform('syncDirectory', path, () => {
      this.#directory(path).sync();
    });
  }

  syncDirectoryNow(path: string): void {
    this.#perform('syncDirectoryNow', path, () => {
      this.#directory(path).sync();
    });
  }

  #perform<T>(kind: Operation['kind'], path: string, done: () => T): T {
    return this.perform({ kind, path, bytes: 0 }, { done });
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const name of path.split('/').filter((part) => part !== '')) {
      if (node?.kind === 'file') throw systemError('ENOTDIR', path);
      node = node?.entries.get(name);
    }
    return node;
  }

  #node(path: string): Node {
    const node = this.#find(path);
    if (node === undefined) throw systemError('ENOENT', path);
    return node;
  }

  #file(path: string): SimulatedFile {
    const node = this.#node(path);
    if (node.kind === 'directory') throw systemError('EISDIR', path);
    return node;
  }

  #directory(path: string): SimulatedDirectory {
    const node = this.#node(path);
    if (node.kind === 'file') throw systemError('ENOTDIR', path);
    return node;
  }

  #parent(path: string): SimulatedDirectory {
    return this.#directory(dirname(path));
  }
}

function refuseToReplace(there: Node | undefined, by: Node, path: string): void {
  if (there === undefined || (there.kind === 'file' && by.kind === 'file')) return;
  if (there.kind === 'file') throw systemError('ENOTDIR', path);
  if (by.kind === 'file') throw systemError('EISDIR', path);
  if (there.entries.size > 0) throw systemError('ENOTEMPTY', path);
}

class OpenFile implements AppendFile {
  readonly #disk: SimulatedDisk;
  readonly #file: SimulatedFile;
  readonly #path: string;
  #isOpen = true;

  constructor(disk: SimulatedDisk, file: SimulatedFile, path: string) {
    this.#disk = disk;
    this.#file = file;
    this.#path = path;
    disk.openFiles += 1;
  }

  append(parts: readonly Uint8Array[]): void {
    this.#append('append', Buffer.concat(parts));
  }

  async appendAsync(parts: readonly Uint8Array[]): Promise<void> {
    this.#append('appendAsync', Buffer.concat(parts));
  }

  async datasync(): Promise<void> {
    this.#sync('datasync');
  }

  datasyncNow(): void {
    this.#sync('datasyncNow');
  }

  async truncate(length: number): Promise<void> {
    this.#truncate('truncate', length);
  }

  truncateNow(length: number): void {
    this.#truncate('truncateNow', length);
  }

  async close(): Promise<void> {
    this.#refuseIfClosed();
    this.#isOpen = false;
    this.#disk.openFiles -= 1;
  }

  #append(kind: 'append' | 'appendAsync', bytes: Buffer): void {
    this.#refuseIfClosed();
    const part = (length: number): void => {
      this.#file.append(bytes.subarray(0, length));
      this.#disk.roomBytes -= length;
    };
    const done = (): void => {
      const fitting = Math.min(bytes.length, this.#disk.roomBytes);
      part(fitting);
      if (fitting < bytes.length) throw systemError('ENOSPC', this.#path);
    };
    this.#disk.perform({ kind, path: this.#path, bytes: bytes.length }, { done, part });
  }

  #sync(kind: 'datasync' | 'datasyncNow'): void {
    this.#refuseIfClosed();
    const done = (): void => this.#file.sync();
    const failed = (): void => this.#file.failSync();
    this.#disk.perform({ kind, path: this.#path, bytes: 0 }, { done, failed });
  }

  #truncate(kind: 'truncate' | 'truncateNow', length: number): void {
    this.#refuseIfClosed();
    const done = (): void => {
      this.#disk.roomBytes += this.#file.bytes.length - length;
      this.#file.truncate(length);
    };
    this.#disk.perform({ kind, path: this.#path, bytes: 0 }, { done });
  }

  #refuseIfClosed(): void {
    if (!this.#isOpen) throw systemError('EBADF', this.#path);
  }
}

/**
 * The seam: everything durable goes through this interface, so that a simulated disk can stop it
 * after any operation, tear writes, drop what was not synced and inject errors.
 *
 * Every method fails with a Node system error (`code` such as ENOSPC); what was true before a
 * failed call is still true after it, except that a failed `append` may have written a prefix.
 */
export interface FileSystem {
  /**
   * Creates a new file with mode 0600, whatever the umask, for appending. @throws EEXIST when the
   * name is taken.
   */
  create(path: string): AppendFile;
  /** Opens an existing file for appending. @throws ENOENT when there is none. */
  openAppend(path: string): AppendFile;
  /** @throws ENOENT when there is none. */
  openRead(path: string): Promise<ReadFile>;
  /** The whole file in one buffer. For files that are small by construction. */
  readFile(path: string): Promise<Buffer>;
  /** Names in a directory, unsorted. @throws ENOENT when there is none. */
  list(path: string): Promise<string[]>;
  /**
   * Names and sizes of the regular files in a directory, unsorted; files that vanish are left out.
   */
  measure(path: string): Promise<MeasuredFile[]>;
  /** Undefined when nothing has this name. */
  stat(path: string): Promise<FileStat | undefined>;
  /** One level, mode 0700 whatever the umask. @throws EEXIST when the name is taken. */
  makeDirectory(path: string): Promise<void>;
  /** Replaces an existing file of the new name. */
  rename(from: string, to: string): Promise<void>;
  /** @throws ENOENT when there is none. */
  unlink(path: string): Promise<void>;
  /** @throws ENOTEMPTY when something is in it. */
  removeDirectory(path: string): Promise<void>;
  /** Makes the creations, renames and removals in a directory survive a power cut. */
  syncDirectory(path: string): Promise<void>;
  /** As `syncDirectory`, blocking; for those who asked for a sync on every write. */
  syncDirectoryNow(path: string): void;
}

/** A file open for appending: the position is always its end. */
export interface AppendFile {
  /**
   * Writes all of `parts`, looping over short writes, before it returns: one system call as a rule,
   * into the page cache, so that a killed process loses nothing that was appended. Blocks while the
   * kernel does.
   */
  append(parts: readonly Uint8Array[]): void;
  /** As `append`, without blocking the event loop. */
  appendAsync(parts: readonly Uint8Array[]): Promise<void>;
  /** A failure is final for the file: the kernel may have dropped the pages. Never retry it. */
  datasync(): Promise<void>;
  /** As `datasync`, blocking; for those who asked for a sync on every write. */
  datasyncNow(): void;
  /** Cuts the file to its first `length` bytes. */
  truncate(length: number): Promise<void>;
  /** As `truncate`, blocking; it changes metadata only. */
  truncateNow(length: number): void;
  close(): Promise<void>;
}

export interface ReadFile {
  readonly size: number;
  /** Reads up to `target.length` bytes from `position`; returns how many there were. */
  read(target: Uint8Array, position: number): Promise<number>;
  close(): Promise<void>;
}

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'other';
  readonly sizeBytes: number;
}

export interface MeasuredFile {
  readonly name: string;
  readonly sizeBytes: number;
}

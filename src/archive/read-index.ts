import type { FileSystem, ReadFile } from '../disk/file-system.js';
import { parseIndexLine, type IndexEntry } from './index-line.js';

/** Several hundred lines; what is looked for is nearly always among the last. */
const WINDOW_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/**
 * Takes an index line; false ends the reading.
 *
 * @param lineEnd offset in the index just behind the line's newline
 */
export type TakeLine = (entry: IndexEntry, lineEnd: number) => boolean | Promise<boolean>;

/**
 * Hands on the whole lines of an index from the last to the first; lines that are not intact are
 * skipped.
 */
export async function eachLineFromEnd(fs: FileSystem, path: string, take: TakeLine): Promise<void> {
  const file = await fs.openRead(path);
  try {
    await readBackwards(file, take);
  } finally {
    await file.close();
  }
}

async function readBackwards(file: ReadFile, take: TakeLine): Promise<void> {
  // What was read of a line whose beginning lies further in front.
  let rest: Buffer = Buffer.alloc(0);
  let isTail = true;
  for (let end = file.size; end > 0;) {
    const start = Math.max(0, end - WINDOW_BYTES);
    const window = Buffer.allocUnsafe(end - start);
    await file.read(window, start);
    const bytes = Buffer.concat([window, rest]);
    let lineEnd = bytes.length;
    if (isTail) {
      // Behind the last newline lies the torn tail of a crash.
      lineEnd = bytes.lastIndexOf(NEWLINE) + 1;
      if (lineEnd > 0) isTail = false;
    }
    while (lineEnd > 0) {
      const before = bytes.lastIndexOf(NEWLINE, lineEnd - 2);
      if (lineEnd === 1 || before === -1) break;
      const entry = parseIndexLine(bytes.subarray(before + 1, lineEnd - 1));
      if (entry !== undefined && !(await take(entry, start + lineEnd))) return;
      lineEnd = before + 1;
    }
    rest = isTail ? Buffer.alloc(0) : bytes.subarray(0, lineEnd);
    end = start;
  }
  const first = parseIndexLine(rest.subarray(0, -1));
  if (first !== undefined) await take(first, rest.length);
}

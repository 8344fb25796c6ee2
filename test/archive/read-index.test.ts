import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeIndexLine } from '../../src/archive/index-line.js';
import { eachLineFromEnd } from '../../src/archive/read-index.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { scanFrames } from '../../src/frames/scan.js';
import { frameOf } from '../support/frames.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function indexLine(seq: number): string {
  const bytes = frameOf(seq, 'x\n');
  const [frame] = scanFrames(bytes).frames;
  return frame === undefined ? '' : encodeIndexLine(bytes, frame, seq);
}

async function read(text: string, until = 0): Promise<{ seqs: number[]; ends: number[] }> {
  const path = join(temporaryDirectory(), 'index');
  writeFileSync(path, text);
  const found = { seqs: [] as number[], ends: [] as number[] };
  await eachLineFromEnd(nodeFileSystem, path, ({ header }, lineEnd) => {
    found.seqs.push(header.seq);
    found.ends.push(lineEnd);
    return header.seq !== until;
  });
  return found;
}

describe('eachLineFromEnd', () => {
  it.each([0, 1, 2, 3, 700, 5000])(
    'gives the %i lines of an index from the last to the first',
    async (count) => {
      const lines = Array.from({ length: count }, (_, index) => indexLine(index + 1));
      const { seqs, ends } = await read(lines.join(''));
      expect(seqs).toEqual(lines.map((_, index) => count - index));
      let end = 0;
      const expected = lines.map((line) => (end += line.length)).reverse();
      expect(ends).toEqual(expected);
    },
  );

  it('passes over a torn tail and over lines that are damaged', async () => {
    const text = indexLine(1) + 'damaged\n' + indexLine(2) + '\n' + indexLine(3) + '{"v":1,"seq"';
    expect((await read(text)).seqs).toEqual([3, 2, 1]);
  });

  it('passes over a tail without any newline, however long', async () => {
    expect((await read(indexLine(1) + 'x'.repeat(200_000))).seqs).toEqual([1]);
    expect((await read('x'.repeat(200_000))).seqs).toEqual([]);
  });

  it('stops when it is told to', async () => {
    const text = [1, 2, 3, 4].map(indexLine).join('');
    expect((await read(text, 3)).seqs).toEqual([4, 3]);
  });
});

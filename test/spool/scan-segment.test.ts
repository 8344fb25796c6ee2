import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitFile } from '../../src/disk/durable.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { MAX_BODY_BYTES } from '../../src/frames/frame.js';
import { scanSegment, type SegmentContent } from '../../src/spool/scan-segment.js';
import { withCode } from '../support/file-system-suite.js';
import { frameOf, framesOf, gapOf } from '../support/frames.js';
import { SimulatedDisk } from '../support/simulated-disk.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

async function scan(content: Buffer, first = 1): Promise<SegmentContent> {
  const disk = new SimulatedDisk();
  await commitFile(disk, '/segment', content);
  const found = await scanSegment(disk, '/segment', first);
  expect(disk.openFiles).toBe(0);
  return found;
}

describe('scanSegment', () => {
  it('adds up what is in an intact segment', async () => {
    const content = Buffer.concat([framesOf(['a\nb\n', 'c\n']), gapOf(4, 10, 100)]);
    expect(await scan(content)).toEqual({
      last: 4,
      intactBytes: content.length,
      gaps: 1,
      end: { kind: 'complete', at: content.length },
    });
  });

  it('finds nothing in an empty file', async () => {
    expect(await scan(Buffer.alloc(0), 7)).toEqual({
      last: 6,
      intactBytes: 0,
      gaps: 0,
      end: { kind: 'complete', at: 0 },
    });
  });

  it('finds the frames before a tail that is torn at any byte', async () => {
    const first = framesOf(['a\nb\n']);
    const content = Buffer.concat([first, frameOf(3, 'c\n')]);
    for (let length = first.length + 1; length < content.length; length += 1) {
      expect(await scan(content.subarray(0, length))).toMatchObject({
        last: 2,
        intactBytes: first.length,
        end: { kind: 'torn', at: first.length },
      });
    }
  });

  it('finds the frames before a damaged one, and where that lies', async () => {
    const first = framesOf(['a\nb\n']);
    const content = Buffer.concat([first, frameOf(3, 'c\n'), frameOf(4, 'd\n')]);
    content[first.length + 20]! ^= 1;
    expect(await scan(content)).toMatchObject({
      last: 2,
      intactBytes: first.length,
      end: { kind: 'damaged', at: first.length },
    });
  });

  it.each([
    [3, 'repeats itself', [1, 1]],
    [3, 'goes back', [2, 1]],
    [2, 'leaves one out', [1, 3]],
  ])('does not take a frame whose sequence does not go on: %d %s', async (_, __, sequences) => {
    const frames = sequences.map((seq) => frameOf(seq, 'x\n'));
    const found = await scan(Buffer.concat(frames), sequences[0]);
    expect(found).toMatchObject({
      last: sequences[0],
      intactBytes: frames[0]!.length,
      end: {
        kind: 'misplaced',
        at: frames[0]!.length,
        reason: `sequence ${String(sequences[1])} where ${String(sequences[0]! + 1)} is due`,
      },
    });
  });

  it('does not take a beginning that its name does not say', async () => {
    expect(await scan(framesOf(['a\n']), 2)).toMatchObject({
      last: 1,
      intactBytes: 0,
      end: { kind: 'misplaced', at: 0, reason: 'sequence 1 where 2 is due' },
    });
  });

  it('stops at a frame of a newer version', async () => {
    const first = framesOf(['a\n']);
    const content = Buffer.concat([first, Buffer.from('{"v":2}\n')]);
    expect(await scan(content)).toMatchObject({
      last: 1,
      end: { kind: 'newer', at: first.length },
    });
  });

  it('says when there is no such file', async () => {
    const scanning = scanSegment(new SimulatedDisk(), '/none', 1);
    await expect(scanning).rejects.toThrow(withCode('ENOENT'));
  });

  it('closes the file when it cannot be read', async () => {
    const disk = new SimulatedDisk();
    await commitFile(disk, '/segment', framesOf(['a\n']));
    disk.faultOf = ({ kind }) => (kind === 'read' ? { code: 'EIO' } : undefined);
    await expect(scanSegment(disk, '/segment', 1)).rejects.toThrow(withCode('EIO'));
    expect(disk.openFiles).toBe(0);
  });
});

describe('scanSegment of a file of many windows', () => {
  /** Bodies of every length up to the largest, so that frames lie across the borders of windows. */
  const large = Buffer.alloc(MAX_BODY_BYTES, 'x');
  const lengths = [MAX_BODY_BYTES, 10, MAX_BODY_BYTES - 1, 1, MAX_BODY_BYTES, 3_000_000, 2_999_999];
  const frames = lengths.map((length, index) => frameOf(index + 1, large.subarray(0, length)));
  const starts = frames.map((_, index) =>
    frames.slice(0, index).reduce((sum, { length }) => sum + length, 0),
  );
  const whole = Buffer.concat(frames);

  async function scanReal(content: Buffer): Promise<SegmentContent> {
    const path = join(temporaryDirectory(), 'segment');
    writeFileSync(path, content);
    return scanSegment(nodeFileSystem, path, 1);
  }

  it('finds every frame', async () => {
    expect(await scanReal(whole)).toEqual({
      last: frames.length,
      intactBytes: whole.length,
      gaps: 0,
      end: { kind: 'complete', at: whole.length },
    });
  });

  it('tells where in the file a later window is damaged', async () => {
    const damaged = Buffer.from(whole);
    damaged[starts[5]! + 1000]! ^= 1;
    const end = { kind: 'damaged', at: starts[5], reason: 'checksum mismatch' };
    expect(await scanReal(damaged)).toMatchObject({ last: 5, intactBytes: starts[5], end });
  });

  it('tells where the last frame is torn, in whatever window', async () => {
    for (const index of [1, 2, 4, 6]) {
      const cut = whole.subarray(0, starts[index]! + frames[index]!.length - 1);
      expect(await scanReal(cut)).toMatchObject({
        last: index,
        intactBytes: starts[index],
        end: { kind: 'torn', at: starts[index] },
      });
    }
  });
});

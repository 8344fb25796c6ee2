import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { frameOf } from '../support/frames.js';
import { gist, NativePeer } from '../support/native.js';

const LINES = 20;

/** A run with twenty one-line frames on stdout, whose process is gone. */
async function killedPeer(): Promise<NativePeer> {
  const peer = new NativePeer();
  await peer.put();
  for (let seq = 1; seq <= LINES; seq += 1) {
    await peer.append(seq, seq, frameOf(seq, `line ${String(seq)}\n`));
  }
  peer.restart();
  return peer;
}

function log(peer: NativePeer): string {
  return readFileSync(peer.file('stdout.log'), 'utf8');
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => `line ${String(index + 1)}\n`).join('');
}

describe('an archive after a kill', () => {
  it('stands at the last whole index line, wherever the next was torn', async () => {
    const peer = await killedPeer();
    const index = readFileSync(peer.file('stdout.index.jsonl'));
    const lastLine = index.lastIndexOf(0x0a, -2) + 1;
    for (let cut = lastLine; cut < index.length; cut += 1) {
      writeFileSync(peer.file('stdout.index.jsonl'), index.subarray(0, cut));
      writeFileSync(peer.file('stdout.log'), lines(LINES));
      expect(await peer.mark()).toBe(LINES - 1);
      expect(log(peer)).toBe(lines(LINES - 1));
      peer.restart();
    }
  });

  it('cuts bytes that no index line speaks of', async () => {
    const peer = await killedPeer();
    appendFileSync(peer.file('stdout.log'), 'nobody was told of this');
    expect(await peer.mark()).toBe(LINES);
    expect(log(peer)).toBe(lines(LINES));
  });

  it('goes back to the last line whose bytes are there, when the disk has lost some', async () => {
    const peer = await killedPeer();
    truncateSync(peer.file('stdout.log'), lines(LINES - 2).length + 3);
    expect(await peer.mark()).toBe(LINES - 2);
    expect(log(peer)).toBe(lines(LINES - 2));
  });

  it('does not believe a line whose bytes are others', async () => {
    const peer = await killedPeer();
    writeFileSync(peer.file('stdout.log'), lines(LINES).slice(0, -2) + 'X\n');
    expect(await peer.mark()).toBe(LINES - 1);
  });

  it('loses nothing by a damaged line in the middle of the index', async () => {
    const peer = await killedPeer();
    const index = readFileSync(peer.file('stdout.index.jsonl'));
    index[150] = (index[150] ?? 0) ^ 1;
    writeFileSync(peer.file('stdout.index.jsonl'), index);
    expect(await peer.mark()).toBe(LINES);
    expect(log(peer)).toBe(lines(LINES));
  });

  it('sets a log aside that has no index any more, and never destroys it', async () => {
    const peer = await killedPeer();
    for (const copy of ['stdout.log.damaged', 'stdout.log.damaged-1']) {
      rmSync(peer.file('stdout.index.jsonl'));
      writeFileSync(peer.file('stdout.log'), lines(LINES));
      expect(await peer.mark()).toBe(0);
      expect(readFileSync(peer.file(copy), 'utf8')).toBe(lines(LINES));
      peer.restart();
    }
  });

  it('goes on after a record that is damaged', async () => {
    const peer = await killedPeer();
    writeFileSync(peer.file('run.json'), '{"half":');
    expect(await peer.mark()).toBe(LINES);
    await peer.put();
    expect(gist(await peer.append(21, 21, frameOf(21, 'line 21\n')))).toBe('200 mark 21');
    expect(existsSync(peer.file('run.json'))).toBe(true);
  });

  it('equals the stream after any repeats, overlaps, reorderings and kills', async () => {
    const step = fc.record({
      kill: fc.boolean(),
      back: fc.integer({ min: 0, max: 6 }),
      take: fc.integer({ min: 1, max: 8 }),
      split: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const peer = new NativePeer();
        await peer.put();
        let mark = 0;
        for (const { kill, back, take, split } of steps) {
          if (kill) peer.restart();
          const first = Math.max(1, mark + 1 - back);
          const last = first + take - 1;
          const body = lines(last).slice(lines(first - 1).length);
          const middle = first + Math.floor(take / 2);
          const parts = split && middle > first ? [first, middle] : [first];
          const answers = await Promise.all(
            parts.reverse().map((from, index) => {
              const to = index === 0 ? last : middle - 1;
              const text = body.slice(
                lines(from - 1).length - lines(first - 1).length,
                lines(to).length - lines(first - 1).length,
              );
              return peer.append(from, to, frameOf(from, text));
            }),
          );
          expect(answers.map(({ status }) => status)).toEqual(parts.map(() => 200));
          mark = Math.max(mark, last);
        }
        expect(await peer.mark()).toBe(steps.length === 0 ? undefined : mark);
        if (mark > 0) expect(log(peer)).toBe(lines(mark));
      }),
      { numRuns: 40 },
    );
  });
});

describe('an archive on a failing disk', () => {
  /** The real disk, on which one kind of call fails while `failing` says so. */
  function fragile(failing: { call?: string }): FileSystem {
    const fail = (call: string): void => {
      if (failing.call !== call) return;
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    };
    return {
      ...nodeFileSystem,
      create: (path) => {
        fail('create');
        return nodeFileSystem.create(path);
      },
      openAppend: (path) => {
        const kind = path.endsWith('.log') ? 'log' : 'index';
        const file = nodeFileSystem.openAppend(path);
        return {
          append: (parts) => {
            file.append(parts);
          },
          appendAsync: async (parts) => {
            await file.appendAsync(parts);
            fail(`${kind} write`);
          },
          datasync: async () => {
            fail(`${kind} sync`);
            await file.datasync();
          },
          datasyncNow: () => {
            file.datasyncNow();
          },
          truncate: (length) => file.truncate(length),
          truncateNow: (length) => {
            file.truncateNow(length);
          },
          close: () => file.close(),
        };
      },
    };
  }

  it.each(['log write', 'log sync', 'index write', 'index sync'])(
    'answers 507 when %s fails, believes nothing of it, and goes on when the disk does',
    async (call) => {
      const failing: { call?: string } = {};
      const peer = new NativePeer(fragile(failing));
      await peer.put();
      await peer.append(1, 1, frameOf(1, 'line 1\n'));
      failing.call = call;
      expect(gist(await peer.append(2, 2, frameOf(2, 'line 2\n')))).toBe(
        '507 storage-failed mark 1',
      );
      delete failing.call;
      expect(await peer.mark()).toBe(1);
      const again = await peer.append(2, 2, frameOf(2, 'line 2\n'));
      expect(JSON.parse(again.body.toString())).toMatchObject({ accepted: 2, duplicate: false });
      expect(log(peer)).toBe(lines(2));
    },
  );

  it('answers 507 when a stream cannot be created, and leaves nothing open', async () => {
    const failing: { call?: string } = {};
    const peer = new NativePeer(fragile(failing));
    await peer.put();
    failing.call = 'create';
    expect(gist(await peer.append(1, 1, frameOf(1, 'a\n')))).toBe('507 storage-failed');
    delete failing.call;
    expect(gist(await peer.append(1, 1, frameOf(1, 'a\n')))).toBe('200 mark 1');
    await peer.close();
    const open = readdirSync('/proc/self/fd').length;
    await peer.mark();
    await peer.close();
    expect(readdirSync('/proc/self/fd').length).toBe(open);
  });
});

import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPipes, type Pipe } from '../../src/capture/fifo.js';
import { PassThrough } from '../../src/capture/pass-through.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'passthrough-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function onePipe(): Pipe {
  const pipe = openPipes(1)?.[0];
  if (pipe === undefined) throw new Error('no FIFOs on this system');
  return pipe;
}

const neverBroken = (error: unknown): void => {
  throw new Error('broken', { cause: error });
};

describe('PassThrough', () => {
  it('writes to a file at once, and in order', () => {
    const fd = openSync(join(directory, 'out'), 'w');
    const out = new PassThrough(fd, neverBroken);
    expect(out.write(Buffer.from('one\n'))).toBeUndefined();
    expect(out.write(Buffer.from([0, 0xff, 0x0d]))).toBeUndefined();
    closeSync(fd);
    expect(readFileSync(join(directory, 'out'))).toEqual(Buffer.from('one\n\0\xff\r', 'latin1'));
  });

  it('writes nothing for no bytes', () => {
    expect(new PassThrough(-1, neverBroken).write(Buffer.alloc(0))).toBeUndefined();
  });

  it('waits for a reader of a pipe that is full, without blocking, and loses nothing', async () => {
    const { readFd, writeFd } = onePipe();
    const out = new PassThrough(writeFd, neverBroken);
    const sent = Buffer.alloc(300_000, 0x61);
    let isDone = false;
    const done = out.write(sent)?.then(() => {
      isDone = true;
    });
    const last = out.write(Buffer.from('the end'));
    let received = 0;
    const buffer = Buffer.alloc(65_536);
    while (received < sent.length + 7) {
      expect(received < sent.length - 65_536 && isDone).toBe(false);
      await new Promise((resolve) => setImmediate(resolve));
      try {
        received += readSync(readFd, buffer);
      } catch (error) {
        expect(error).toMatchObject({ code: 'EAGAIN' });
      }
    }
    await Promise.all([done, last]);
    closeSync(readFd);
    closeSync(writeFd);
    expect(received).toBe(sent.length + 7);
  });

  it('tells once that its reader has gone, and drops the rest', async () => {
    const { readFd, writeFd } = onePipe();
    const codes: unknown[] = [];
    const out = new PassThrough(writeFd, (error) => codes.push((error as { code: string }).code));
    closeSync(readFd);
    await Promise.all([out.write(Buffer.from('a')), out.write(Buffer.from('b'))]);
    expect(out.write(Buffer.from('c'))).toBeUndefined();
    closeSync(writeFd);
    expect(codes).toEqual(['EPIPE']);
  });

  it('tells that a disk behind it is full', () => {
    const fd = openSync('/dev/full', 'w');
    const codes: unknown[] = [];
    const out = new PassThrough(fd, (error) => codes.push((error as { code: string }).code));
    expect(out.write(Buffer.from('a'))).toBeUndefined();
    closeSync(fd);
    expect(codes).toEqual(['ENOSPC']);
  });

  it('tells that a descriptor was closed before we started', () => {
    const codes: unknown[] = [];
    const out = new PassThrough(9999, (error) => codes.push((error as { code: string }).code));
    expect(out.write(Buffer.from('a'))).toBeUndefined();
    expect(codes).toEqual(['EBADF']);
  });
});

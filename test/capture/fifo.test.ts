import { closeSync, fstatSync, readdirSync, readSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openPipes, type Pipe } from '../../src/capture/fifo.js';

const opened: Pipe[] = [];

function open(count: number): readonly Pipe[] {
  const pipes = openPipes(count);
  if (pipes === undefined) throw new Error('no FIFOs on this system');
  opened.push(...pipes);
  return pipes;
}

afterEach(() => {
  vi.unstubAllEnvs();
  for (const { readFd, writeFd } of opened.splice(0)) {
    closeSync(readFd);
    closeSync(writeFd);
  }
});

describe('openPipes', () => {
  it('makes real pipes that carry bytes', () => {
    const [pipe] = open(1);
    if (pipe === undefined) throw new Error('no pipe');
    expect(fstatSync(pipe.writeFd).isFIFO()).toBe(true);
    writeSync(pipe.writeFd, 'hello');
    const buffer = Buffer.alloc(16);
    expect(buffer.toString('utf8', 0, readSync(pipe.readFd, buffer))).toBe('hello');
  });

  it('has a read end that never blocks', () => {
    const [pipe] = open(1);
    expect(() => readSync(pipe?.readFd ?? -1, Buffer.alloc(1))).toThrow(
      expect.objectContaining({ code: 'EAGAIN' }),
    );
  });

  it('leaves no name behind', () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('shipper-'));
    open(2);
    const after = readdirSync(tmpdir()).filter((name) => name.startsWith('shipper-'));
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
  });

  it('says that there are none where the folder for them cannot be made', () => {
    vi.stubEnv('TMPDIR', '/nonexistent/folder');
    expect(openPipes(1)).toBeUndefined();
  });

  it('says that there are none where mkfifo is missing', () => {
    vi.stubEnv('PATH', '/nonexistent/folder');
    expect(openPipes(1)).toBeUndefined();
  });
});

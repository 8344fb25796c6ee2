import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { startProgress } from '../../src/cli/progress.js';

interface Screen {
  readonly stream: NodeJS.WriteStream;
  text(): string;
}

function screen(isTTY: boolean): Screen {
  const chunks: Buffer[] = [];
  const stream = new PassThrough();
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const terminal = { isTTY, columns: 120, cursorTo: () => true, clearLine: () => true };
  return {
    stream: Object.assign(stream, terminal) as unknown as NodeJS.WriteStream,
    text: () => Buffer.concat(chunks).toString(),
  };
}

const start = { doneBytes: 0, totalBytes: 2048, pendingEntries: 10 };

describe('startProgress', () => {
  it('shows how much is delivered, and of what, on a terminal', () => {
    const { stream, text } = screen(true);
    const progress = startProgress(stream, start);
    progress.update({ doneBytes: 4096, totalBytes: 4096, pendingEntries: 0 });
    progress.stop();
    expect(text()).toContain('0% | 0 B of 2.0 KiB | entries left: 10');
    expect(text()).toContain('100% | 4.0 KiB of 4.0 KiB | entries left: 0');
  });

  it('shows the cursor again at the end, however often it is ended', () => {
    const { stream, text } = screen(true);
    const progress = startProgress(stream, start);
    progress.stop();
    progress.stop();
    expect(text()).toContain('\u001b[?25h');
  });

  it('draws nothing elsewhere', () => {
    const { stream, text } = screen(false);
    const progress = startProgress(stream, start);
    progress.update({ doneBytes: 1, totalBytes: 2, pendingEntries: 1 });
    progress.stop();
    expect(text()).toBe('');
  });
});

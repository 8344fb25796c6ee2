import { closeSync, writeSync } from 'node:fs';
import { PassThrough as MemoryStream } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { openPipes, type Pipe } from '../../src/capture/fifo.js';
import { StreamIntake } from '../../src/capture/stream-intake.js';
import { FallbackReader, PipeReader } from '../../src/capture/stream-reader.js';

function onePipe(): Pipe {
  const pipe = openPipes(1)?.[0];
  if (pipe === undefined) throw new Error('no FIFOs on this system');
  return pipe;
}

interface Sink {
  readonly intake: StreamIntake;
  text(): string;
}

function sink(pressure: () => Promise<void> | undefined = () => undefined): Sink {
  const bodies: Buffer[] = [];
  const intake = new StreamIntake({
    maxEntryBytes: 1000,
    flushIntervalMs: 60_000,
    append: (body) => bodies.push(Buffer.concat(body)),
    pressure,
    passThrough: undefined,
  });
  return { intake, text: () => Buffer.concat(bodies).toString() };
}

describe('PipeReader', () => {
  it('reads until the last writer has closed', async () => {
    const { readFd, writeFd } = onePipe();
    const { intake, text } = sink();
    const reader = new PipeReader(readFd, intake);
    writeSync(writeFd, 'one\ntw');
    writeSync(writeFd, 'o');
    closeSync(writeFd);
    await reader.settled;
    expect(text()).toBe('one\ntwo');
  });

  it('takes what is there now although reading has to wait', async () => {
    const { readFd, writeFd } = onePipe();
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const { intake, text } = sink(() => gate);
    const reader = new PipeReader(readFd, intake);
    writeSync(writeFd, 'first\n');
    while (text() === '') await new Promise((resolve) => setImmediate(resolve));
    writeSync(writeFd, 'second\n');
    reader.takeWhatIsThere();
    expect(text()).toBe('first\nsecond\n');
    closeSync(writeFd);
    reader.takeWhatIsThere();
    await reader.ended;
    release();
    await reader.settled;
    expect(text()).toBe('first\nsecond\n');
  });

  it('stops although the pipe is open when it is abandoned', async () => {
    const { readFd, writeFd } = onePipe();
    const { intake, text } = sink();
    const reader = new PipeReader(readFd, intake);
    writeSync(writeFd, 'kept');
    reader.takeWhatIsThere();
    reader.abandon();
    await reader.settled;
    expect(text()).toBe('kept');
    expect(() => writeSync(writeFd, 'x')).toThrow(expect.objectContaining({ code: 'EPIPE' }));
    closeSync(writeFd);
  });
});

describe('FallbackReader', () => {
  it('reads a stream of Node until its end, waiting where it has to', async () => {
    const stream = new MemoryStream();
    const { intake, text } = sink(() => Promise.resolve());
    const reader = new FallbackReader(stream, intake);
    stream.write('one\n');
    stream.end('two');
    await reader.settled;
    expect(text()).toBe('one\ntwo');
  });

  it('takes what is there now', () => {
    const stream = new MemoryStream();
    const { intake, text } = sink(() => new Promise(() => undefined));
    const reader = new FallbackReader(stream, intake);
    stream.write('one\n');
    reader.takeWhatIsThere();
    expect(text()).toBe('one\n');
    reader.abandon();
  });
});

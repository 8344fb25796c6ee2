import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { discardRest, readBody } from '../../src/receive/body-reader.js';

function message(): PassThrough & IncomingMessage {
  return new PassThrough() as unknown as PassThrough & IncomingMessage;
}

describe('readBody', () => {
  it('fills the buffer with the bytes', async () => {
    const request = message();
    const body = Buffer.alloc(6);
    const reading = readBody(request, body, 1000);
    request.write('abc');
    request.end('def');
    expect(await reading).toEqual({ kind: 'whole' });
    expect(body.toString()).toBe('abcdef');
  });

  it('takes an empty body', async () => {
    const request = message();
    const reading = readBody(request, Buffer.alloc(0), 1000);
    request.end();
    expect(await reading).toEqual({ kind: 'whole' });
  });

  it.each([
    ['ends early', (request: PassThrough) => request.end('abc')],
    ['goes on too long', (request: PassThrough) => request.end('abcdefg')],
    ['breaks off', (request: PassThrough) => request.destroy()],
    ['fails', (request: PassThrough) => request.destroy(new Error('reset'))],
  ])('is broken when the client %s', async (_, act) => {
    const request = message();
    const reading = readBody(request, Buffer.alloc(6), 1000);
    act(request);
    expect(await reading).toEqual({ kind: 'broken' });
  });

  it('is broken at once when the client has gone before', async () => {
    const request = message();
    request.destroy();
    await new Promise((resolve) => request.once('close', resolve));
    expect(await readBody(request, Buffer.alloc(6), 60_000)).toEqual({ kind: 'broken' });
  });

  it('waits for a slow client as long as something comes, and not for a silent one', async () => {
    vi.useFakeTimers();
    try {
      const request = message();
      let reading: unknown;
      void readBody(request, Buffer.alloc(10), 1000).then((done) => (reading = done));
      for (let part = 0; part < 5; part += 1) {
        request.write('x');
        await vi.advanceTimersByTimeAsync(900);
      }
      expect(reading).toBeUndefined();
      await vi.advanceTimersByTimeAsync(100);
      expect(reading).toEqual({ kind: 'stalled' });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('discardRest', () => {
  it('reads to the end of a body', async () => {
    const request = message();
    const done = discardRest(request, 60_000);
    request.end(Buffer.alloc(1_000_000));
    await done;
    expect(request.readableEnded).toBe(true);
  });

  it('does not wait for a client that is gone, nor for long for one that goes on', async () => {
    await discardRest(message().destroy(), 60_000);
    await discardRest(message(), 1);
  });
});

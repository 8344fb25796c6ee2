import { describe, expect, it } from 'vitest';
import { scanFrames } from '../../src/frames/scan.js';
import type { BatchReader, BatchReading } from '../../src/upload/batch-reader.js';
import { BufferPool } from '../../src/upload/buffer-pool.js';
import { StreamSender } from '../../src/upload/stream-sender.js';
import { METADATA } from '../support/batches.js';
import { frameOf } from '../support/frames.js';
import type { Batch } from '../../src/sinks/sink.js';

/** A stream of sealed one-entry frames, ten of which make a batch. */
function readerOf(lastSealed: number): BatchReader & { limits: number[] } {
  const limits: number[] = [];
  return {
    limits,
    lastSealed,
    read: (from: number, maxBytes: number, buffer: Buffer): Promise<BatchReading> => {
      limits.push(maxBytes);
      if (from > lastSealed) return Promise.resolve({ kind: 'nothing' });
      const last = Math.min(lastSealed, from + 9);
      const frames = Array.from({ length: last - from + 1 }, (_, i) => frameOf(from + i, 'x\n'));
      const bytes = Buffer.concat(frames).copy(buffer);
      const scanned = scanFrames(buffer.subarray(0, bytes)).frames;
      return Promise.resolve({ kind: 'batch', first: from, last, buffer, bytes, frames: scanned });
    },
  } as unknown as BatchReader & { limits: number[] };
}

function senderOf(lastSealed: number, mark = 0, maxInFlight = 2): StreamSender {
  const limits = { maxBytes: 5000, maxInFlight };
  return new StreamSender('stdout', readerOf(lastSealed), limits, mark);
}

const pool = new BufferPool(5000);

async function next(sender: StreamSender): Promise<Batch> {
  const read = await sender.next(pool);
  if (read === undefined) throw new Error('no batch');
  return sender.describe(read, METADATA, 1);
}

describe('StreamSender', () => {
  it('sends what is sealed beyond the mark, several batches at once, in order', async () => {
    const sender = senderOf(35, 5);
    const first = await next(sender);
    const second = await next(sender);
    expect([first.first, first.last, second.first, second.last]).toEqual([6, 15, 16, 25]);
    expect(sender.canSend).toBe(false);
    expect(sender.accepted(first, 15)).toBe(10);
    expect(sender.canSend).toBe(true);
    expect(sender.mark).toBe(15);
  });

  it('lets the mark rise only, whatever the order of the answers', async () => {
    const sender = senderOf(20);
    const first = await next(sender);
    const second = await next(sender);
    expect(sender.accepted(second, 20)).toBe(20);
    expect(sender.accepted(first, 20)).toBe(0);
    expect(sender.mark).toBe(20);
    expect(sender.isDone).toBe(true);
  });

  it('sends again from the mark once all is back, after a batch that was not taken', async () => {
    const sender = senderOf(100);
    const first = await next(sender);
    const second = await next(sender);
    sender.refused();
    expect(sender.canSend).toBe(false);
    sender.accepted(first, 10);
    expect(sender.canSend).toBe(true);
    expect(await next(sender)).toMatchObject({ first: 11, highestSent: second.last });
  });

  it('sends the rest again when a part was taken', async () => {
    const sender = senderOf(10);
    const batch = await next(sender);
    expect(sender.accepted(batch, 4)).toBe(4);
    expect(sender.isDone).toBe(false);
    expect(await next(sender)).toMatchObject({ first: 5, last: 10, markAtSend: 4 });
  });

  it('halves what is too large, and says when it cannot be halved', async () => {
    const sender = senderOf(10);
    const batch = await next(sender);
    expect(sender.halve(batch)).toBe(true);
    await next(sender);
    const single = { ...batch, frames: batch.frames.slice(0, 1) };
    expect(sender.halve(single)).toBe(false);
  });

  it('has nothing to send beyond what is sealed', async () => {
    const sender = senderOf(10, 10);
    expect(sender.canSend).toBe(false);
    expect(sender.isDone).toBe(true);
    expect(await sender.next(pool)).toBeUndefined();
  });

  it('is busy while a batch is read or under way', async () => {
    const sender = senderOf(10);
    expect(sender.isBusy).toBe(false);
    const reading = next(sender);
    expect(sender.isBusy).toBe(true);
    const batch = await reading;
    expect(sender.isBusy).toBe(true);
    sender.accepted(batch, 10);
    expect(sender.isBusy).toBe(false);
  });

  it('contradicts a mark that nothing vouched for, once something lies before it', () => {
    const reader = { firstSealed: undefined as number | undefined, lastSealed: 0 };
    const limits = { maxBytes: 100, maxInFlight: 2 };
    const told = (mark: number): StreamSender =>
      new StreamSender('stdout', reader as unknown as BatchReader, limits, mark);
    const [wrong, right, vouched] = [told(7), told(4), told(0)];
    expect([wrong, right, vouched].map(({ isContradicted }) => isContradicted)).toEqual([
      false,
      false,
      false,
    ]);
    Object.assign(reader, { firstSealed: 5, lastSealed: 9 });
    expect([wrong, right, vouched].map(({ isContradicted }) => isContradicted)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('waits with what cannot be read until the directory was looked at again', async () => {
    const reader = {
      lastSealed: 5,
      read: (): Promise<BatchReading> => Promise.resolve({ kind: 'blocked', reason: 'damaged' }),
    } as unknown as BatchReader;
    const sender = new StreamSender('stdout', reader, { maxBytes: 100, maxInFlight: 2 }, 0);
    expect(await sender.next(pool)).toBeUndefined();
    expect(sender.blocked).toBe('damaged');
    expect(sender.canSend).toBe(false);
    sender.unblock();
    expect(sender.canSend).toBe(true);
  });
});

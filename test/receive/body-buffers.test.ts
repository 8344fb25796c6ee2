import { describe, expect, it } from 'vitest';
import { MAX_BATCH_BYTES } from '../../src/archive/append-request.js';
import { BodyBuffers } from '../../src/receive/body-buffers.js';

describe('BodyBuffers', () => {
  it('gives buffers of the length that is asked for', () => {
    const buffers = new BodyBuffers();
    for (const length of [0, 1, 1_000_000, MAX_BATCH_BYTES / 2, 5_000_000, MAX_BATCH_BYTES]) {
      const buffer = buffers.take(length);
      expect(buffer.length).toBe(length);
      buffers.giveBack(buffer);
    }
  });

  it('uses a large one again, for a body of any large size', () => {
    const buffers = new BodyBuffers();
    const first = buffers.take(5_000_000);
    const memory = first.buffer;
    buffers.giveBack(first);
    const second = buffers.take(MAX_BATCH_BYTES);
    expect(second.buffer).toBe(memory);
    expect(second.length).toBe(MAX_BATCH_BYTES);
  });

  it('never gives one out twice at a time', () => {
    const buffers = new BodyBuffers();
    const taken = [1, 2, 3].map(() => buffers.take(MAX_BATCH_BYTES));
    for (const buffer of taken) buffers.giveBack(buffer);
    const again = [1, 2, 3, 4].map(() => buffers.take(MAX_BATCH_BYTES).buffer);
    expect(new Set(again).size).toBe(4);
  });

  it('keeps a bounded number', () => {
    const buffers = new BodyBuffers();
    const taken = Array.from({ length: 10 }, () => buffers.take(MAX_BATCH_BYTES));
    const memories = new Set(taken.map(({ buffer }) => buffer));
    for (const buffer of taken) buffers.giveBack(buffer);
    const again = Array.from({ length: 10 }, () => buffers.take(MAX_BATCH_BYTES).buffer);
    expect(again.filter((memory) => memories.has(memory))).toHaveLength(4);
  });
});

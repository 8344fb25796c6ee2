import { describe, expect, it } from 'vitest';
import { MemoryGate } from '../../src/receive/memory-gate.js';

describe('MemoryGate', () => {
  it('lets in what fits, and others in the order in which they came', async () => {
    const gate = new MemoryGate(10);
    const entered: string[] = [];
    const enter = (name: string, bytes: number): Promise<void> =>
      gate.enter(bytes).then(() => void entered.push(name));
    await Promise.all([enter('a', 4), enter('b', 6)]);
    const rest = [enter('large', 10), enter('small', 1)];
    gate.leave(4);
    await Promise.resolve();
    expect(entered).toEqual(['a', 'b']);
    gate.leave(6);
    await rest[0];
    expect(entered).toEqual(['a', 'b', 'large']);
    gate.leave(10);
    await rest[1];
    expect(entered).toEqual(['a', 'b', 'large', 'small']);
  });
});

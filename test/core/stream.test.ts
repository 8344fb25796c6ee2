import { describe, expect, it } from 'vitest';
import { STREAMS, isStreamName } from '../../src/core/stream.js';

describe('isStreamName', () => {
  it('knows the streams of a run and nothing else', () => {
    expect(STREAMS.every(isStreamName)).toBe(true);
    expect(['', 'stdin', 'STDOUT', 'toString'].some(isStreamName)).toBe(false);
  });
});

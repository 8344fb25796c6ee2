import { describe, expect, it } from 'vitest';
import type { StreamName } from '../../src/core/stream.js';
import { judgeOpening, type KnownStream, type StreamMarks } from '../../src/upload/opening.js';

const NOTHING: KnownStream = { firstSealed: undefined, lastSealed: 0, mark: 0, end: undefined };

/** `stdout` is as given, the other streams have nothing and go on or end as it does. */
function judge(
  marks: StreamMarks,
  known: Partial<KnownStream>,
  finished = false,
): ReturnType<typeof judgeOpening> {
  const end = known.end === undefined ? undefined : 0;
  return judgeOpening({ marks, finished }, (stream: StreamName) =>
    stream === 'stdout' ? { ...NOTHING, ...known } : { ...NOTHING, end },
  );
}

const SEALED = { firstSealed: 11, lastSealed: 20 };

describe('judgeOpening', () => {
  it.each<[string, StreamMarks, Partial<KnownStream>]>([
    ['a new run', {}, {}],
    ['what is sealed', {}, { firstSealed: 1, lastSealed: 20 }],
    ['what is sealed, a part of which is there', { stdout: 12 }, { ...SEALED, mark: 10 }],
    ['what is sealed, all of which is there', { stdout: 20 }, { ...SEALED, mark: 10 }],
    ['a run of which everything was sent and removed', { stdout: 30 }, {}],
    ['a segment that a removal has forgotten', { stdout: 30 }, { ...SEALED, mark: 30 }],
    ['a segment that a removal has forgotten, at the end', { stdout: 30 }, { ...SEALED, end: 30 }],
  ])('goes on with %s', (_, marks, known) => {
    expect(judge(marks, known)).toEqual({ kind: 'go-on', lost: [] });
  });

  it('believes no mark of what was never sealed', () => {
    expect(judge({ stdout: 21 }, { ...SEALED, mark: 10 })).toEqual({
      kind: 'stop',
      reason: 'it confirms stdout up to 21, which was never sent',
      hint: 'check that --to names the right receiver',
    });
    expect(judge({ stdout: 31 }, { ...SEALED, mark: 30, end: 30 }).kind).toBe('stop');
  });

  it('sends again what was lost and is still sealed', () => {
    expect(judge({ stdout: 12 }, { ...SEALED, mark: 15 })).toEqual({
      kind: 'go-on',
      lost: ['it has lost what it had confirmed: stdout 13 to 15'],
    });
    expect(judge({ stdout: 10 }, { ...SEALED, mark: 15 }).kind).toBe('go-on');
  });

  it.each([
    ['a part of which is sealed', SEALED],
    ['nothing of which is sealed', {}],
  ])('stops at a loss, %s', (_, known) => {
    expect(judge({ stdout: 9 }, { ...known, mark: 15 })).toMatchObject({
      kind: 'stop',
      reason: 'it has lost what it had confirmed: stdout 10 to 15',
    });
  });

  it('takes a run for finished only where it has ended and every entry is there', () => {
    expect(judge({ stdout: 20 }, { ...SEALED, end: 20 }, true).kind).toBe('finished');
    expect(judge({ stdout: 20 }, { end: 20 }, true).kind).toBe('finished');
    expect(judge({}, { end: 0 }, true).kind).toBe('finished');
  });

  it.each<[string, StreamMarks, Partial<KnownStream>]>([
    ['goes on', { stdout: 20 }, SEALED],
    ['has more entries sealed', { stdout: 15 }, { ...SEALED, end: 20 }],
    ['has entries beyond its end', { stdout: 20 }, { firstSealed: 21, lastSealed: 25, end: 20 }],
    ['has ended later', { stdout: 20 }, { end: 25 }],
    ['has not sealed anything yet', {}, {}],
  ])('keeps a run that is finished there and %s', (_, marks, known) => {
    expect(judge(marks, known, true)).toMatchObject({
      kind: 'stop',
      reason: 'the run is finished there',
    });
  });
});

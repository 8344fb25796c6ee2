import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MAX_BATCH_BYTES } from '../../src/archive/append-request.js';
import { frameOf, framesOf, gapOf } from '../support/frames.js';
import { gist, NativePeer, RUN } from '../support/native.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The same bytes with one bit of the body changed. */
function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length - 2] = (copy.at(-2) ?? 0) ^ 1;
  return copy;
}

/** A run with `a`, `b` and `c` stored on stdout. */
async function peerWithThree(): Promise<NativePeer> {
  const peer = new NativePeer();
  await peer.put();
  expect(gist(await peer.append(1, 3, framesOf(['a\nb\n', 'c\n'])))).toBe('200 mark 3');
  return peer;
}

describe('a range of entries', () => {
  it('that continues the mark is taken, and its bytes are stored as they are', async () => {
    const peer = await peerWithThree();
    expect(gist(await peer.append(4, 4, frameOf(4, 'no newline')))).toBe('200 mark 4');
    expect(readFileSync(peer.file('stdout.log'), 'utf8')).toBe('a\nb\nc\nno newline');
  });

  it('that is stored is a duplicate, however old, whatever its size and encoding', async () => {
    const peer = await peerWithThree();
    const wrong = { 'content-type': 'text/plain', 'content-length': String(MAX_BATCH_BYTES + 1) };
    for (const last of [1, 2, 3]) {
      const answer = await peer.append(1, last, Buffer.from('anything'), wrong);
      expect(gist(answer)).toBe('200 mark 3');
      expect(JSON.parse(answer.body.toString())).toMatchObject({ duplicate: true, accepted: 3 });
    }
  });

  it('that overlaps is taken from the mark on', async () => {
    const peer = await peerWithThree();
    const range = Buffer.concat([frameOf(2, 'b\nc\nd\n'), frameOf(5, 'e\n')]);
    expect(gist(await peer.append(2, 5, range))).toBe('200 mark 5');
    expect(readFileSync(peer.file('stdout.log'), 'utf8')).toBe('a\nb\nc\nd\ne\n');
    peer.restart();
    expect(await peer.mark()).toBe(5);
  });

  it.each([
    ['other bytes', () => frameOf(3, 'X\nd\n')],
    ['more bytes that end alike', () => frameOf(3, 'cc\nd\n')],
    ['a gap where an entry is stored', () => Buffer.concat([gapOf(3, 1, 2), frameOf(4, 'd\n')])],
  ])('that overlaps with %s is a conflict, and changes nothing', async (_, range) => {
    const peer = await peerWithThree();
    expect(gist(await peer.append(3, 4, range()))).toBe('409 content-conflict mark 3');
    expect(readFileSync(peer.file('stdout.log'), 'utf8')).toBe('a\nb\nc\n');
  });

  it('that leaves entries out is refused with the mark', async () => {
    const peer = await peerWithThree();
    expect(gist(await peer.append(5, 5, frameOf(5, 'e\n')))).toBe('409 gap mark 3');
  });

  it('that comes before its predecessor is held until that one is there', async () => {
    const peer = await peerWithThree();
    const answers = await Promise.all([
      peer.append(6, 6, frameOf(6, 'f\n')),
      peer.append(5, 5, frameOf(5, 'e\n')),
      peer.append(4, 4, frameOf(4, 'd\n')),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(readFileSync(peer.file('stdout.log'), 'utf8')).toBe('a\nb\nc\nd\ne\nf\n');
  });

  it('may hold gap entries, which have no bytes', async () => {
    const peer = await peerWithThree();
    const range = Buffer.concat([gapOf(4, 7, 70), frameOf(5, 'e\n')]);
    expect(gist(await peer.append(4, 5, range))).toBe('200 mark 5');
    peer.restart();
    expect(await peer.mark()).toBe(5);
  });

  it('of an older uploader is fenced off, also after a restart', async () => {
    const peer = await peerWithThree();
    const newer = { 'shipper-epoch': '5' };
    expect(gist(await peer.append(4, 4, frameOf(4, 'd\n'), newer))).toBe('200 mark 4');
    peer.restart();
    expect(gist(await peer.append(5, 5, frameOf(5, 'e\n')))).toBe('409 fenced mark 4');
    expect(gist(await peer.append(1, 1, frameOf(1, 'a\n')))).toBe('409 fenced mark 4');
  });

  it('that was held is fenced off when a newer uploader comes meanwhile', async () => {
    const peer = await peerWithThree();
    const held = peer.append(5, 5, frameOf(5, 'OLD\n'));
    await peer.append(4, 4, frameOf(4, 'd\n'), { 'shipper-epoch': '2' });
    expect(gist(await held)).toMatch(/^409 fenced mark [34]$/);
    expect(readFileSync(peer.file('stdout.log'), 'utf8')).toBe('a\nb\nc\nd\n');
  });

  it('is taken compressed, but not beyond the limit', async () => {
    const peer = await peerWithThree();
    const gzip = { 'content-encoding': 'gzip' };
    expect(gist(await peer.append(4, 4, gzipSync(frameOf(4, 'd\n')), gzip))).toBe('200 mark 4');
    const bomb = gzipSync(Buffer.alloc(MAX_BATCH_BYTES + 1));
    expect(gist(await peer.append(5, 5, bomb, gzip))).toBe('413 too-large mark 4');
    expect(gist(await peer.append(5, 5, Buffer.from('x'), gzip))).toBe('422 malformed mark 4');
  });

  it('is refused when it is not what its digest says', async () => {
    const peer = await peerWithThree();
    const body = frameOf(4, 'd\n');
    const digest = (of: Buffer): Record<string, string> => ({
      'content-digest': `sha-256=:${createHash('sha256').update(of).digest('base64')}:`,
    });
    const wrong = digest(Buffer.from('else'));
    expect(gist(await peer.append(4, 4, body, wrong))).toBe('400 digest-mismatch mark 3');
    expect(gist(await peer.append(4, 4, body, digest(body)))).toBe('200 mark 4');
  });

  it('of another media type or coding is refused with what is taken', async () => {
    const peer = await peerWithThree();
    const types = [{ 'content-type': 'application/x-ndjson' }, { 'content-encoding': 'br' }];
    for (const headers of types) {
      const answer = await peer.append(4, 4, frameOf(4, 'd\n'), headers);
      expect(gist(answer)).toBe('415 unsupported-encoding mark 3');
      expect(answer.headers['accept']).toBe('application/vnd.shipper.frames');
    }
  });

  it('that is too large is refused with the limits, unread', async () => {
    const peer = await peerWithThree();
    const large = { 'content-length': String(MAX_BATCH_BYTES + 1) };
    const answer = await peer.append(4, 4, Buffer.alloc(0), large);
    expect(gist(answer)).toBe('413 too-large mark 3');
    expect(answer.headers['shipper-limits']).toContain(
      `max-batch-bytes=${String(MAX_BATCH_BYTES)}`,
    );
  });

  it.each([
    ['a damaged frame', () => flipped(frameOf(4, 'd\n'))],
    ['half a frame', () => frameOf(4, 'd\n').subarray(0, -1)],
    ['other sequences', () => frameOf(5, 'd\n')],
    ['too few entries', () => frameOf(4, 'd')],
    ['a frame that miscounts', () => frameOf(4, 'd\ne\n', { n: 1 })],
    ['nothing', () => Buffer.alloc(0)],
  ])('with %s is malformed, and changes nothing', async (_, body) => {
    const peer = await peerWithThree();
    const last = _ === 'too few entries' ? 5 : 4;
    expect(gist(await peer.append(4, last, body()))).toBe('422 malformed mark 3');
    expect(await peer.mark()).toBe(3);
  });

  it.each([
    ['no range', { 'shipper-range': 'all' }, '400 bad-request mark 3'],
    ['a range that is none', { 'shipper-range': 'first=2, last=1' }, '400 bad-request mark 3'],
    ['no epoch', { 'shipper-epoch': '' }, '400 bad-request mark 3'],
    ['another version', { 'shipper-version': '2' }, '400 unsupported-version'],
  ])('with %s is a bad request', async (_, headers, expected) => {
    const peer = await peerWithThree();
    expect(gist(await peer.append(4, 4, frameOf(4, 'd\n'), headers))).toBe(expected);
  });

  it('of a run that nobody has announced is refused', async () => {
    expect(gist(await new NativePeer().append(1, 1, frameOf(1, 'a\n')))).toBe('404 run-unknown');
  });
});

describe('a run', () => {
  it('is confirmed as often as it is announced, and keeps its first description', async () => {
    const peer = new NativePeer();
    const first = await peer.put({ v: 1, id: RUN, name: 'first' });
    const state = { id: RUN, epoch: 0, finished: false, marks: {} };
    expect(JSON.parse(first.body.toString())).toEqual(state);
    await peer.put({ v: 1, id: RUN, name: 'second' });
    expect(JSON.parse(readFileSync(peer.file('run.json'), 'utf8'))).toMatchObject({
      name: 'first',
    });
  });

  it('tells marks, epoch and whether it is finished', async () => {
    const peer = await peerWithThree();
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await peer.handle({ method });
      const expected = { id: RUN, epoch: 1, finished: false, marks: { stdout: 3 } };
      expect(JSON.parse(answer.body.toString())).toEqual(expected);
      expect(answer.headers).toMatchObject({ 'shipper-epoch': '1', 'cache-control': 'no-store' });
    }
  });

  it('is finished when totals agree, again with the same ones, never with others', async () => {
    const peer = await peerWithThree();
    const totals = { stdout: { last: 3, bytes: 6, sha256: sha256('a\nb\nc\n') } };
    expect(gist(await peer.finish(totals))).toBe('200');
    peer.restart();
    expect(gist(await peer.finish(totals))).toBe('200');
    const others = { stdout: { last: 3, bytes: 6, sha256: null } };
    expect(gist(await peer.finish(others))).toBe('409 finish-conflict');
    expect(JSON.parse(readFileSync(peer.file('run.json'), 'utf8'))).toMatchObject({
      streams: totals,
      exit: { code: 0 },
      finishedAt: expect.any(String) as string,
    });
  });

  it('has its digest computed anew after a restart', async () => {
    const peer = await peerWithThree();
    peer.restart();
    await peer.append(4, 4, frameOf(4, 'd\n'));
    const totals = { stdout: { last: 4, bytes: 8, sha256: sha256('a\nb\nc\nd\n') } };
    expect(gist(await peer.finish(totals))).toBe('200');
  });

  it('is finished without digests when nobody is left who saw its end', async () => {
    const peer = await peerWithThree();
    expect(gist(await peer.finish({ stdout: { last: 3, bytes: null, sha256: null } }))).toBe('200');
  });

  it.each([
    ['entries are missing', { stdout: { last: 4, bytes: 8, sha256: null } }, '409 gap'],
    [
      'a stream is missing',
      { stdout: { last: 3, bytes: 6, sha256: null }, stderr: { last: 1, bytes: 1, sha256: null } },
      '409 gap',
    ],
    ['there are too many', { stdout: { last: 2, bytes: 4, sha256: null } }, '409 finish-conflict'],
    ['a stream is not mentioned', {}, '409 finish-conflict'],
    ['the bytes differ', { stdout: { last: 3, bytes: 7, sha256: null } }, '409 finish-conflict'],
    [
      'the digest differs',
      { stdout: { last: 3, bytes: 6, sha256: sha256('x') } },
      '409 finish-conflict',
    ],
  ])('is not finished while %s', async (_, streams, expected) => {
    const peer = await peerWithThree();
    expect(gist(await peer.finish(streams))).toBe(expected);
    const state = JSON.parse((await peer.handle({})).body.toString()) as { finished: boolean };
    expect(state.finished).toBe(false);
  });

  it('takes nothing new once it is finished, and still knows its duplicates', async () => {
    const peer = await peerWithThree();
    await peer.finish({ stdout: { last: 3, bytes: 6, sha256: null } });
    expect(gist(await peer.append(4, 4, frameOf(4, 'd\n')))).toBe('409 run-complete mark 3');
    expect(gist(await peer.append(2, 3, framesOf(['b\nc\n'])))).toBe('200 mark 3');
  });

  it('is finished with what is stored, whatever races with it', async () => {
    const peer = await peerWithThree();
    const append = peer.append(4, 4, frameOf(4, 'd\n'));
    const finish = await peer.finish({ stdout: { last: 3, bytes: 6, sha256: null } });
    const isFinished = finish.status === 200;
    expect((await append).status).toBe(isFinished ? 409 : 200);
    expect(await peer.mark()).toBe(isFinished ? 3 : 4);
  });

  it('is not finished by an older uploader, nor by one without epoch', async () => {
    const peer = await peerWithThree();
    await peer.append(4, 4, frameOf(4, 'd\n'), { 'shipper-epoch': '2' });
    const totals = { stdout: { last: 4, bytes: 8, sha256: null } };
    expect(gist(await peer.finish(totals))).toBe('409 fenced');
    expect(gist(await peer.finish(totals, {}))).toBe('400 bad-request');
  });
});

describe('other requests', () => {
  it.each([
    ['GET', '/', '404 not-found'],
    ['GET', '/v1/runs/', '404 not-found'],
    ['GET', `/v1/runs/${RUN}`, '404 run-unknown'],
    ['GET', '/v1/runs/..%2f..%2fetc', '400 bad-request'],
    ['PUT', '/v1/runs/not-a-ulid', '400 bad-request'],
    ['POST', `/v1/runs/${RUN}`, '405 method-not-allowed'],
    ['GET', `/v1/runs/${RUN}/finish`, '405 method-not-allowed'],
    ['POST', `/v1/runs/${RUN}/streams/secrets`, '404 not-found'],
    ['POST', `/v1/runs/${RUN}/streams/../../x`, '404 not-found'],
  ] as const)('%s %s is %s', async (method, path, expected) => {
    expect(gist(await new NativePeer().handle({ method, path }))).toBe(expected);
  });

  it.each([['not JSON'], ['{"id":"01J00000000000000000000001"}'], ['[]']])(
    'metadata that is %s is refused',
    async (text) => {
      const peer = new NativePeer();
      const answer = await peer.handle({ method: 'PUT', body: Buffer.from(text) });
      expect(gist(answer)).toBe('400 bad-request');
    },
  );
});

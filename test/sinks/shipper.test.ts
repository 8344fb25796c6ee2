import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/core/exchange.js';
import type { RunTotals } from '../../src/core/run.js';
import { shipperSink } from '../../src/sinks/shipper.js';
import { batchOf, METADATA } from '../support/batches.js';

const sink = shipperSink('id', { transport: 'http', origin: 'http://h' }, '/p');

function answer(status: number, headers: Record<string, string> = {}, body = ''): Answer {
  return { kind: 'response', status, headers, body: Buffer.from(body) };
}

function problem(status: number, name: string, headers: Record<string, string> = {}): Answer {
  const type = `urn:shipper:problem:${name}`;
  const all = { 'content-type': 'application/problem+json', ...headers };
  return answer(status, all, JSON.stringify({ type, status }));
}

const PROBLEM = { 'content-type': 'application/problem+json' };
const failure = (code: string): Answer => ({ kind: 'failure', code, reason: `failed by ${code}` });
const mark = (value: string): Record<string, string> => ({ 'shipper-accepted': value });

describe('a batch', () => {
  it('is sent as its frames lie on disk, with range and epoch', () => {
    const batch = batchOf(101, 200);
    expect(sink.encode(batch)).toEqual({
      method: 'POST',
      path: `/p/v1/runs/${METADATA.id}/streams/stdout`,
      headers: {
        'shipper-version': '1',
        'shipper-range': 'first=101, last=200',
        'shipper-epoch': '3',
        'content-type': 'application/vnd.shipper.frames',
      },
      body: batch.body,
    });
    expect(sink.encode(batch)).toEqual(sink.encode(batch));
  });

  it.each([
    ['200 with the mark', answer(200, mark('200')), 'accept'],
    ['200 with a mark within', answer(200, mark('150')), 'accept'],
    ['200 with the mark of a later batch', answer(200, mark('300')), 'accept'],
    ['200 with the mark as it was', answer(200, mark('100')), 'accept'],
    ['200 with a mark from the future', answer(200, mark('301')), 'reopen'],
    ['200 with a mark that goes back', answer(200, mark('99')), 'reopen'],
    ['200 with a mark that is none', answer(200, mark('many')), 'retry'],
    ['200 with a negative mark', answer(200, mark('-1')), 'retry'],
    ['200 with a mark beyond all numbers', answer(200, mark('9'.repeat(16))), 'retry'],
    ['200 with an empty body and no mark', answer(200), 'retry'],
    ['200 without a mark', answer(200, {}, '<html>welcome</html>'), 'retry'],
    ['204 with a mark', answer(204, mark('200')), 'retry'],
    ['409 gap', problem(409, 'gap', mark('90')), 'rebase'],
    ['409 gap that contradicts itself', problem(409, 'gap', mark('150')), 'retry'],
    ['409 gap without a mark', problem(409, 'gap'), 'retry'],
    ['409 content-conflict', problem(409, 'content-conflict', mark('150')), 'stop run'],
    ['409 fenced', problem(409, 'fenced', mark('100')), 'stop run'],
    ['409 run-complete', problem(409, 'run-complete', mark('100')), 'stop run'],
    ['404 run-unknown', problem(404, 'run-unknown'), 'reopen'],
    ['400 digest-mismatch', problem(400, 'digest-mismatch'), 'retry'],
    ['413', problem(413, 'too-large'), 'split'],
    ['413 of a proxy', answer(413), 'split'],
    ['422', problem(422, 'malformed'), 'split'],
    ['408', answer(408), 'retry'],
    ['425', answer(425), 'retry'],
    ['429', answer(429), 'retry'],
    ['500', answer(500), 'retry'],
    ['502', answer(502), 'retry'],
    ['503', problem(503, 'unavailable'), 'retry'],
    ['507', problem(507, 'storage-failed', mark('100')), 'retry'],
    ['401', problem(401, 'unauthorized'), 'stop destination, credentials'],
    ['403', answer(403), 'stop destination, credentials'],
    ['301', answer(301, { location: 'http://else' }), 'stop destination'],
    ['404 of something else', answer(404, {}, 'not found'), 'stop destination'],
    ['405', answer(405), 'stop destination'],
    ['410', answer(410), 'stop destination'],
    ['415', problem(415, 'unsupported-encoding'), 'stop destination'],
    ['400', problem(400, 'bad-request'), 'stop destination'],
    ['a refused connection', failure('ECONNREFUSED'), 'retry'],
    ['a reset', failure('UND_ERR_SOCKET'), 'retry'],
    ['a time-out', failure('UND_ERR_HEADERS_TIMEOUT'), 'retry'],
    ['an unknown host', failure('ENOTFOUND'), 'retry'],
    ['a wrong certificate', failure('ERR_TLS_CERT_ALTNAME_INVALID'), 'stop destination'],
    ['a self-signed certificate', failure('DEPTH_ZERO_SELF_SIGNED_CERT'), 'stop destination'],
    ['a certificate of tomorrow', failure('CERT_NOT_YET_VALID'), 'stop destination'],
    ['no TLS at all', failure('ERR_SSL_WRONG_VERSION_NUMBER'), 'stop destination'],
    ['302', answer(302), 'stop destination'],
    ['308', answer(308), 'stop destination'],
    ['407', answer(407), 'stop destination'],
    ['501', answer(501), 'stop destination'],
    ['a problem that is no JSON', answer(409, PROBLEM, '<html>'), 'stop destination'],
    ['a problem without a type', answer(409, PROBLEM, '{}'), 'stop destination'],
  ])('that is answered with %s: %#', (_, given, expected) => {
    const verdict = sink.judge(batchOf(101, 200, { markAtSend: 100, highestSent: 300 }), given);
    const words =
      verdict.kind === 'stop'
        ? `stop ${verdict.scope}${verdict.credentials ? ', credentials' : ''}`
        : verdict.kind;
    expect(words).toBe(expected);
    if (verdict.kind === 'stop') expect(verdict.hint).not.toBe('');
  });

  it('is settled up to the mark that is told, and no further', () => {
    const batch = batchOf(101, 200, { highestSent: 300 });
    expect(sink.judge(batch, answer(200, mark('150')))).toEqual({ kind: 'accept', mark: 150 });
    expect(sink.judge(batch, problem(409, 'gap', mark('90')))).toEqual({
      kind: 'rebase',
      mark: 90,
    });
  });

  it('waits as long as the server asks, in both forms', () => {
    const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
    const later = 'Wed, 21 Oct 2026 07:28:05 GMT';
    for (const headers of [{ 'retry-after': '5' }, { 'retry-after': later, date }]) {
      expect(sink.judge(batchOf(1, 1), answer(503, headers))).toMatchObject({ afterMs: 5000 });
    }
  });
});

describe('a run', () => {
  const runs = sink.runs;
  if (runs === undefined) throw new Error('the native sink knows runs');
  const state = (fields: object): Answer =>
    answer(
      200,
      {},
      JSON.stringify({ id: METADATA.id, epoch: 2, finished: false, marks: {}, ...fields }),
    );

  it('is opened by what describes it, and nothing else of the record', () => {
    const record = { ...METADATA, destinations: ['dir:/x'], writer: null, end: null };
    const request = runs.open(record);
    expect(request).toMatchObject({ method: 'PUT', path: `/p/v1/runs/${METADATA.id}` });
    expect(JSON.parse(String(request.body))).toEqual(METADATA);
  });

  it('tells its marks when it is opened', () => {
    const opened = runs.judgeOpen(state({ marks: { stdout: 5, stderr: 0 } }));
    const marks = { stdout: 5, stderr: 0 };
    expect(opened).toEqual({ kind: 'opened', marks, epoch: 2, finished: false });
    expect(runs.judgeOpen(state({ finished: true }))).toMatchObject({ finished: true });
  });

  it.each([
    ['a web page', answer(200, {}, '<html>'), 'retry'],
    ['marks that are none', state({ marks: { stdout: 'many' } }), 'retry'],
    ['streams that are none', state({ marks: { secrets: 1 } }), 'retry'],
    ['no epoch', state({ epoch: null }), 'retry'],
    ['an epoch that is none', state({ epoch: 1.5 }), 'retry'],
    ['a negative mark', state({ marks: { stdout: -1 } }), 'retry'],
    ['a mark that no number holds', state({ marks: { stdout: 1e300 } }), 'retry'],
    ['no marks', state({ marks: null }), 'retry'],
    ['a redirect', answer(301), 'stop'],
    ['no TLS', failure('ERR_SSL_WRONG_VERSION_NUMBER'), 'stop'],
    ['401', answer(401), 'stop'],
    ['404', answer(404), 'stop'],
    ['503', answer(503), 'retry'],
    ['nothing', failure('ECONNREFUSED'), 'retry'],
  ])('is not open when the answer is %s', (_, given, expected) => {
    expect(runs.judgeOpen(given).kind).toBe(expected);
  });

  it('is finished with its totals, as they are', () => {
    const totals: RunTotals = {
      streams: { stdout: { last: 3, bytes: 6, sha256: 'ab' } },
      exit: { code: 0 },
      gaps: 0,
      endedAt: null,
    };
    const request = runs.finish(METADATA, totals, 7);
    expect(request.path).toBe(`/p/v1/runs/${METADATA.id}/finish`);
    expect(request.headers).toMatchObject({ 'shipper-epoch': '7' });
    expect(JSON.parse(String(request.body))).toEqual(totals);
  });

  it.each([
    ['a finished state', state({ finished: true }), 'finished'],
    ['a state that is not finished', state({}), 'retry'],
    ['a web page', answer(200, {}, '<html>'), 'retry'],
    ['409 gap', problem(409, 'gap'), 'behind'],
    ['409 finish-conflict', problem(409, 'finish-conflict'), 'stop'],
    ['404 run-unknown', problem(404, 'run-unknown'), 'reopen'],
    ['503', answer(503), 'retry'],
    ['nothing', failure('ECONNRESET'), 'retry'],
  ])('is %s after a finish', (_, given, expected) => {
    expect(runs.judgeFinish(given).kind).toBe(expected);
  });
});

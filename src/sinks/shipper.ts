import type {
  Answer,
  ExchangeFailure,
  ExchangeRequest,
  ExchangeResponse,
} from '../core/exchange.js';
import { isCount, parseObject } from '../core/json.js';
import type { RunMetadata } from '../core/run.js';
import { isStreamName, type StreamName } from '../core/stream.js';
import { retryAfterMs } from './retry-after.js';
import type {
  Batch,
  Capabilities,
  Endpoint,
  FinishVerdict,
  OpenVerdict,
  Reopen,
  Retry,
  Sink,
  Stop,
  Verdict,
} from './sink.js';

/**
 * The native dialect: range-acknowledged frames, version 1. The only proof is `Shipper-Accepted`,
 * the mark of the stream, durable at the destination; a 2xx without a plausible one is an unknown
 * outcome.
 */
const NATIVE: Capabilities = {
  // What every receiver of ours takes; it may take more.
  maxBatchBytes: 8 * 1024 * 1024,
  // Range acknowledgements make several batches of one stream converge, in whatever order they
  // arrive. One under way hides the other's sync; more would hold 8 MiB each and were measured to
  // gain nothing.
  maxInFlightPerStream: 2,
};

/** @param prefix path in front of `/v1`, without a slash at its end */
export function shipperSink(id: string, endpoint: Endpoint, prefix = ''): Sink {
  return {
    id,
    endpoint,
    capabilities: NATIVE,
    encode: (batch) => encode(batch, prefix),
    judge,
    runs: {
      open: (run) => jsonRequest('PUT', `${prefix}/v1/runs/${run.id}`, metadataOf(run)),
      judgeOpen,
      finish: (run, totals, epoch) =>
        jsonRequest('POST', `${prefix}/v1/runs/${run.id}/finish`, totals, epoch),
      judgeFinish,
    },
  };
}

function encode(batch: Batch, prefix: string): ExchangeRequest {
  return {
    method: 'POST',
    path: `${prefix}/v1/runs/${batch.run.id}/streams/${batch.stream}`,
    headers: {
      'shipper-version': '1',
      'shipper-range': `first=${String(batch.first)}, last=${String(batch.last)}`,
      'shipper-epoch': String(batch.epoch),
      'content-type': 'application/vnd.shipper.frames',
    },
    body: batch.body,
  };
}

/**
 * Of a record only what describes the run: where the spool delivers it is nobody else's business.
 */
function metadataOf(run: RunMetadata): RunMetadata {
  const { v, id, name, command, labels, host, pid, startedAt, shipperVersion } = run;
  return { v, id, name, command, labels, host, pid, startedAt, shipperVersion };
}

function jsonRequest(
  method: 'PUT' | 'POST',
  path: string,
  content: object,
  epoch?: number,
): ExchangeRequest {
  return {
    method,
    path,
    headers: {
      'shipper-version': '1',
      'content-type': 'application/json',
      ...(epoch === undefined ? {} : { 'shipper-epoch': String(epoch) }),
    },
    body: Buffer.from(JSON.stringify(content)),
  };
}

function judge(batch: Batch, answer: Answer): Verdict {
  if (answer.kind === 'failure') return judgeFailure(answer);
  const mark = acceptedMark(answer);
  const isPlausible = mark !== undefined && mark >= batch.markAtSend && mark <= batch.highestSent;
  if (answer.status === 200) {
    if (isPlausible) return { kind: 'accept', mark };
    if (mark === undefined) return unknown('it answered 200 without a mark');
    // It may be that of an earlier uploader's last request, which arrived late: ask for the state.
    return { kind: 'reopen', reason: `it confirmed up to ${String(mark)}, which cannot be right` };
  }
  const problem = problemOf(answer);
  if (problem === 'gap' && mark !== undefined && mark < batch.first - 1) {
    return { kind: 'rebase', mark };
  }
  if (problem === 'gap') return unknown('it misses entries and does not say which');
  if (answer.status === 413) return { kind: 'split', reason: 'it takes no request of this size' };
  if (answer.status === 422) return { kind: 'split', reason: 'it cannot read what was sent' };
  return judgeRunProblem(problem) ?? judgeCommon(answer, problem);
}

function judgeOpen(answer: Answer): OpenVerdict {
  if (answer.kind === 'failure') return judgeFailure(answer);
  if (answer.status !== 200 && answer.status !== 201) return judgeCommon(answer, problemOf(answer));
  const state = parseObject(answer.body.toString('utf8'));
  const marks = marksOf(state?.['marks']);
  const epoch = state?.['epoch'];
  if (marks === undefined || !isCount(epoch)) {
    return unknown('it answered something that is not the state of a run');
  }
  return { kind: 'opened', marks, epoch, finished: state?.['finished'] === true };
}

function judgeFinish(answer: Answer): FinishVerdict {
  if (answer.kind === 'failure') return judgeFailure(answer);
  if (answer.status === 200 && parseObject(answer.body.toString('utf8'))?.['finished'] === true) {
    return { kind: 'finished' };
  }
  const problem = problemOf(answer);
  if (answer.status === 409 && problem === 'gap') return { kind: 'behind' };
  if (answer.status < 300) return unknown('it did not confirm the end of the run');
  return judgeRunProblem(problem) ?? judgeCommon(answer, problem);
}

/** Refusals that concern this run alone: others go on. */
function judgeRunProblem(problem: string | undefined): Reopen | Stop | undefined {
  switch (problem) {
    case 'run-unknown':
      return { kind: 'reopen', reason: 'it does not know the run' };
    case 'fenced':
      return stopRun('another uploader has taken the run over', 'let that one go on');
    case 'content-conflict':
    case 'finish-conflict':
      return stopRun('it holds other content for this run', 'compare both sides before going on');
    case 'run-complete':
      return stopRun('the run is finished there', 'the spool keeps what came later');
    case undefined:
    default:
      return undefined;
  }
}

/** What any request may be answered with, whatever it asked. */
function judgeCommon(answer: ExchangeResponse, problem: string | undefined): Retry | Stop {
  const { status, headers } = answer;
  const reason = `it answered ${String(status)}${problem === undefined ? '' : ` ${problem}`}`;
  if (status === 401 || status === 403) {
    const hint = 'check the token that --token-file or SHIPPER_TOKEN gives';
    return { kind: 'stop', scope: 'destination', reason, hint, credentials: true };
  }
  const isOverloaded = status >= 500 && status !== 501;
  const isTransient = status === 408 || status === 425 || status === 429 || isOverloaded;
  if (isTransient || problem === 'digest-mismatch' || status < 300) {
    const afterMs = retryAfterMs(headers['retry-after'], headers['date']);
    return { kind: 'retry', reason, ...(afterMs === undefined ? {} : { afterMs }) };
  }
  const hint = 'check the URL given by --to: a shipper receiver does not answer that';
  return { kind: 'stop', scope: 'destination', reason, hint, credentials: false };
}

/**
 * Of OpenSSL and Node. A wrong certificate stays wrong however often it is looked at, and so does a
 * port where TLS is not spoken.
 */
const TLS_CODES: ReadonlySet<string> = new Set([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_REJECTED',
  'CERT_UNTRUSTED',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);

function judgeFailure({ code, reason }: ExchangeFailure): Retry | Stop {
  if (!TLS_CODES.has(code)) return unknown(reason);
  const hint = 'check scheme and host name in --to, and the certificate of the server';
  return { kind: 'stop', scope: 'destination', reason, hint, credentials: false };
}

function unknown(reason: string): Retry {
  return { kind: 'retry', reason };
}

function stopRun(reason: string, hint: string): Stop {
  return { kind: 'stop', scope: 'run', reason, hint, credentials: false };
}

function acceptedMark(answer: ExchangeResponse): number | undefined {
  const text = answer.headers['shipper-accepted'];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * The last part of an RFC 9457 problem's `type`; undefined where the answer is no problem document.
 */
function problemOf(answer: ExchangeResponse): string | undefined {
  if (answer.headers['content-type']?.startsWith('application/problem+json') !== true)
    return undefined;
  const type = parseObject(answer.body.toString('utf8'))?.['type'];
  return typeof type === 'string' ? type.split(/[/:#]/).at(-1) : undefined;
}

function marksOf(value: unknown): Partial<Record<StreamName, number>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const marks: Partial<Record<StreamName, number>> = {};
  for (const [stream, mark] of Object.entries(value)) {
    if (!isStreamName(stream) || !isCount(mark)) return undefined;
    marks[stream] = mark;
  }
  return marks;
}

import type { Answer, ExchangeRequest, ExchangeResponse } from '../core/exchange.js';
import type { RunMetadata } from '../core/run.js';
import { isStreamName, type StreamName } from '../core/stream.js';
import { parseObject } from '../frames/frame.js';
import { retryAfterMs } from './retry-after.js';
import type {
  Batch,
  Capabilities,
  Endpoint,
  FinishVerdict,
  OpenVerdict,
  Retry,
  Sink,
  Stop,
  Verdict,
} from './sink.js';

/**
 * The native dialect: range-acknowledged frames, version 1. The only proof is `Shipper-Accepted`, the mark
 * of the stream, durable at the destination; a 2xx without a plausible one is an unknown outcome.
 */
const NATIVE: Capabilities = {
  // What every receiver of ours takes; it may take more.
  maxBatchBytes: 8 * 1024 * 1024,
  // Range acknowledgements make several batches of one stream converge, in whatever order they arrive.
  maxInFlightPerStream: 4,
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

/** Of a record only what describes the run: where the spool delivers it is nobody else's business. */
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
  if (answer.kind === 'failure') return unknown(answer.reason);
  const mark = acceptedMark(answer);
  if (answer.status === 200) {
    if (mark !== undefined && mark >= batch.first - 1 && mark <= batch.highestSent) {
      return { kind: 'accept', mark };
    }
    return unknown(
      `it answered 200 ${mark === undefined ? 'without a mark' : 'with a mark that cannot be'}`,
    );
  }
  const problem = problemOf(answer);
  if (answer.status === 409 && problem === 'gap' && mark !== undefined)
    return { kind: 'rebase', mark };
  if (answer.status === 413) return { kind: 'split', reason: 'it takes no request of this size' };
  if (answer.status === 422) return { kind: 'split', reason: 'it cannot read what was sent' };
  return judgeCommon(answer, problem);
}

function judgeOpen(answer: Answer): OpenVerdict {
  if (answer.kind === 'failure') return unknown(answer.reason);
  if (answer.status !== 200 && answer.status !== 201) return judgeCommon(answer, problemOf(answer));
  const state = parseObject(answer.body.toString('utf8'));
  const marks = marksOf(state?.['marks']);
  const epoch = state?.['epoch'];
  if (marks === undefined || typeof epoch !== 'number') {
    return unknown('it answered something that is not the state of a run');
  }
  return { kind: 'opened', marks, epoch, finished: state?.['finished'] === true };
}

function judgeFinish(answer: Answer): FinishVerdict {
  if (answer.kind === 'failure') return unknown(answer.reason);
  if (answer.status === 200 && parseObject(answer.body.toString('utf8'))?.['finished'] === true) {
    return { kind: 'finished' };
  }
  const problem = problemOf(answer);
  if (answer.status === 409 && problem === 'gap') return { kind: 'behind' };
  if (answer.status < 300) return unknown('it did not confirm the end of the run');
  return judgeCommon(answer, problem);
}

/** What any request may be answered with, whatever it asked. */
function judgeCommon(answer: ExchangeResponse, problem: string | undefined): Retry | Stop {
  const { status } = answer;
  const what = `it answered ${String(status)}${problem === undefined ? '' : ` ${problem}`}`;
  if (status === 401 || status === 403) {
    return stop(
      `${what}: the credentials are refused`,
      'check the token given by --token-file',
      true,
    );
  }
  if (problem === 'fenced') {
    return stop(`${what}: another uploader has taken the run`, 'let that one go on');
  }
  if (problem === 'content-conflict' || problem === 'finish-conflict') {
    return stop(
      `${what}: it holds other content for this run`,
      'compare both sides before you go on',
    );
  }
  if (problem === 'run-complete') {
    return stop(`${what}: the run is finished there`, 'the spool keeps what came later');
  }
  if (problem === 'digest-mismatch' || problem === 'run-unknown')
    return { kind: 'retry', reason: what };
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const afterMs = retryAfterMs(answer.headers['retry-after'], answer.headers['date']);
    return { kind: 'retry', reason: what, ...(afterMs === undefined ? {} : { afterMs }) };
  }
  if (status < 300) return unknown(what);
  return stop(
    `${what}: this is no shipper receiver, or not its address`,
    'check the URL given by --to',
  );
}

function unknown(reason: string): Retry {
  return { kind: 'retry', reason };
}

function stop(reason: string, hint: string, credentials = false): Stop {
  return { kind: 'stop', reason, hint, credentials };
}

function acceptedMark(answer: ExchangeResponse): number | undefined {
  const text = answer.headers['shipper-accepted'];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The last part of an RFC 9457 problem's `type`; undefined where the answer is no problem document. */
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
    if (!isStreamName(stream) || !Number.isSafeInteger(mark)) return undefined;
    marks[stream] = mark as number;
  }
  return marks;
}

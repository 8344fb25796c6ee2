import { isCount, isObject } from './json.js';
import type { ExitStatus, RunTotals, StreamTotals } from './run.js';
import { isStreamName, type StreamName } from './stream.js';

/**
 * The final record in an object of unknown origin: a `run.json` or the body of a finish. Undefined
 * when it is none. Other fields are left to others.
 */
export function parseTotals(fields: Readonly<Record<string, unknown>>): RunTotals | undefined {
  const { gaps, endedAt } = fields;
  const streams = parseStreams(fields['streams']);
  const exit = parseExit(fields['exit']);
  if (streams === undefined || exit === undefined || !isCount(gaps)) return undefined;
  if (endedAt !== null && typeof endedAt !== 'string') return undefined;
  return { streams, exit, gaps, endedAt };
}

function parseStreams(value: unknown): Partial<Record<StreamName, StreamTotals>> | undefined {
  if (!isObject(value)) return undefined;
  const streams: Partial<Record<StreamName, StreamTotals>> = {};
  for (const [name, totals] of Object.entries(value)) {
    if (!isStreamName(name) || !isObject(totals)) return undefined;
    const { last, bytes, sha256 } = totals;
    if (!isCount(last) || (bytes !== null && !isCount(bytes))) return undefined;
    if (sha256 !== null && typeof sha256 !== 'string') return undefined;
    streams[name] = { last, bytes, sha256 };
  }
  return streams;
}

function parseExit(value: unknown): ExitStatus | undefined {
  if (!isObject(value)) return undefined;
  const { code, signal, unknown } = value;
  if (isCount(code)) return { code };
  if (typeof signal === 'string') return { signal };
  return unknown === true ? { unknown: true } : undefined;
}

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { systemCode } from '../core/errors.js';
import type { ExchangeRequest, ExchangeResponse } from '../core/exchange.js';
import { countEntries } from '../frames/entries.js';
import { lastSeqOf } from '../frames/frame.js';
import { scanFrames, type PlacedFrame } from '../frames/scan.js';
import type { AppendRange } from './append-queue.js';
import { problem } from './problem.js';

/** The media type of frames as they lie in a segment. */
const FRAMES_TYPE = 'application/vnd.shipper.frames';

/** What a client may send at once: a segment of the default size, headers included. */
export const MAX_BATCH_BYTES: number = 8 * 1024 * 1024;

const unzip = promisify(gunzip);

export interface Range {
  readonly first: number;
  readonly last: number;
}

/** `Shipper-Range: first=101, last=200`; undefined for anything else. */
export function parseRange(header: string | undefined): Range | undefined {
  const match = /^first=(\d{1,15}),\s*last=(\d{1,15})$/.exec(header ?? '');
  const range = { first: Number(match?.[1]), last: Number(match?.[2]) };
  return match !== null && range.first >= 1 && range.last >= range.first ? range : undefined;
}

/** The declared length counts too: the body of a request that is too large is never read. */
function sizeOf(request: ExchangeRequest): number {
  return Math.max(Number(request.headers['content-length'] ?? 0), request.body?.length ?? 0);
}

/**
 * The frames of a request, checked in the order in which the protocol answers: size, encoding,
 * digest, content. The frames are intact, contiguous, count their entries rightly, and are exactly
 * the range.
 */
export async function readAppend(
  request: ExchangeRequest,
  range: Range & { readonly epoch: number },
): Promise<AppendRange | ExchangeResponse> {
  if (sizeOf(request) > MAX_BATCH_BYTES) {
    return tooLarge();
  }
  const sent = request.body ?? Buffer.alloc(0);
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (type !== FRAMES_TYPE || (encoding !== 'identity' && encoding !== 'gzip')) {
    const accepted = { accept: FRAMES_TYPE, 'accept-encoding': 'gzip, identity' };
    return problem('unsupported-encoding', `only ${FRAMES_TYPE} is taken, plain or gzip`, accepted);
  }
  if (!digestMatches(request.headers['content-digest'], sent)) {
    return problem('digest-mismatch', 'the bytes are not those of Content-Digest');
  }
  const bytes = encoding === 'gzip' ? await unzipped(sent) : sent;
  return Buffer.isBuffer(bytes) ? framesOf(bytes, range) : bytes;
}

/** The limit holds for what comes out, too: a small body may unpack to anything. */
async function unzipped(sent: Buffer): Promise<Buffer | ExchangeResponse> {
  try {
    return await unzip(sent, { maxOutputLength: MAX_BATCH_BYTES });
  } catch (error) {
    if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE') return tooLarge();
    return problem('malformed', 'the body is not the gzip that it says it is');
  }
}

function tooLarge(): ExchangeResponse {
  return problem('too-large', `at most ${String(MAX_BATCH_BYTES)} bytes are taken at once`);
}

/** RFC 9530. Without a header, or with other algorithms only, there is nothing to compare. */
function digestMatches(header: string | undefined, body: Buffer): boolean {
  const expected = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):/.exec(header ?? '')?.[1];
  return expected === undefined || expected === createHash('sha256').update(body).digest('base64');
}

function framesOf(
  bytes: Buffer,
  range: Range & { readonly epoch: number },
): AppendRange | ExchangeResponse {
  const { frames, end } = scanFrames(bytes);
  if (end.kind !== 'complete') {
    const reason = 'reason' in end ? end.reason : 'the last frame is not whole';
    return problem('malformed', `at byte ${String(end.at)}: ${reason}`);
  }
  const fault = contentFault(bytes, frames, range);
  return fault === undefined ? { ...range, bytes, frames } : problem('malformed', fault);
}

function contentFault(
  bytes: Buffer,
  frames: readonly PlacedFrame[],
  range: Range,
): string | undefined {
  let due = range.first;
  for (const frame of frames) {
    if (frame.seq !== due) return `sequence ${String(frame.seq)} where ${String(due)} is due`;
    const isCounted =
      frame.gap !== undefined ||
      countEntries(bytes.subarray(frame.bodyStart, frame.end)) === frame.n;
    if (!isCounted) return `the frame of sequence ${String(due)} miscounts its entries`;
    due = lastSeqOf(frame) + 1;
  }
  return due === range.last + 1
    ? undefined
    : `the frames end before sequence ${String(range.last)}`;
}

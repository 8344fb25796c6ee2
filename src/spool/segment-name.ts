import { isStreamName, type StreamName } from '../core/stream.js';

/**
 * A segment's state is in its name, so that one rename seals it:
 *
 *     stdout-000000000413.open               being written; first sequence
 *     stdout-000000000001-000000000412.seg   sealed; first and last sequence
 */
export type SegmentName =
  | { readonly state: 'open'; readonly stream: StreamName; readonly first: number }
  | {
      readonly state: 'sealed';
      readonly stream: StreamName;
      readonly first: number;
      readonly last: number;
    };

/** Twelve digits keep names in order up to 10¹² entries; longer numbers are still read. */
const DIGITS = 12;

const PATTERN = /^([a-z]+)-(\d{12,16})(?:-(\d{12,16})\.seg|\.open)$/;

export function openSegmentName(stream: StreamName, first: number): string {
  return `${stream}-${digits(first)}.open`;
}

export function sealedSegmentName(stream: StreamName, first: number, last: number): string {
  return `${stream}-${digits(first)}-${digits(last)}.seg`;
}

/** Undefined for a name that is no segment's: a foreign file, which is left alone. */
export function parseSegmentName(name: string): SegmentName | undefined {
  const match = PATTERN.exec(name);
  if (match?.[1] === undefined || match[2] === undefined || !isStreamName(match[1]))
    return undefined;
  const first = sequenceOf(match[2]);
  if (first === undefined) return undefined;
  if (match[3] === undefined) return { state: 'open', stream: match[1], first };
  const last = sequenceOf(match[3]);
  if (last === undefined || last < first) return undefined;
  return { state: 'sealed', stream: match[1], first, last };
}

/** A sequence has one name only: with a zero more it would be found, and not be found again. */
function sequenceOf(text: string): number | undefined {
  const sequence = Number(text);
  const isSequence = sequence >= 1 && Number.isSafeInteger(sequence);
  return isSequence && digits(sequence) === text ? sequence : undefined;
}

function digits(sequence: number): string {
  return String(sequence).padStart(DIGITS, '0');
}

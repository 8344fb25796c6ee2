import type { StreamName } from './stream.js';

/**
 * What describes a run, wherever it lies: in the spool's and the archive's `run.json`, and in the
 * native protocol's PUT and finish bodies. Field names are a contract; readers ignore unknown ones.
 */
export interface RunMetadata {
  readonly v: 1;
  readonly id: string;
  readonly name: string;
  readonly command: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly host: string;
  /** Process id of the wrapper on `host`. */
  readonly pid: number;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly shipperVersion: string;
}

/** How the command ended; `unknown` when its wrapper was killed and nobody saw the end. */
export type ExitStatus =
  { readonly code: number } | { readonly signal: string } | { readonly unknown: true };

export interface StreamTotals {
  /** The highest sequence; 0 for a stream that printed nothing. */
  readonly last: number;
  /** Bytes as captured; null when nobody who saw them all is left. */
  readonly bytes: number | null;
  /** Hex digest of the stream's bytes as captured; null when nobody who saw them all is left. */
  readonly sha256: string | null;
}

/** The final record of a run; also the body of the native protocol's finish. */
export interface RunTotals {
  readonly streams: Readonly<Partial<Record<StreamName, StreamTotals>>>;
  readonly exit: ExitStatus;
  /** Gap entries over all streams. */
  readonly gaps: number;
  /** ISO 8601, UTC; null when nobody saw the end. */
  readonly endedAt: string | null;
}

import { EXIT, type ExitCode } from './exit-codes.js';

/**
 * The closed list of things that can go wrong in a way a user can act on. Decide by `code`, never
 * by message text.
 */
export type ErrorCode =
  | 'usage'
  | 'config'
  | 'spool-unusable'
  | 'archive-unusable'
  | 'listen-failed'
  | 'io-failed'
  | 'damaged'
  | 'lock-held'
  | 'command-not-found'
  | 'command-not-executable'
  | 'spawn-failed';

const EXIT_BY_CODE: Readonly<Record<ErrorCode, ExitCode>> = {
  usage: EXIT.usage,
  config: EXIT.config,
  'spool-unusable': EXIT.io,
  'archive-unusable': EXIT.io,
  'listen-failed': EXIT.config,
  'io-failed': EXIT.io,
  damaged: EXIT.data,
  'lock-held': EXIT.undelivered,
  'command-not-found': EXIT.notFound,
  'command-not-executable': EXIT.notExecutable,
  'spawn-failed': EXIT.wrapperFailed,
};

export interface ErrorDetail {
  /** What a user can do about it, as an imperative: "choose another port with --listen". */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * The one error class: `message` says what failed and why, `hint` what to try. It reaches the user
 * as one line, never as a stack trace.
 */
export class ShipperError extends Error {
  override readonly name = 'ShipperError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.hint = detail.hint;
  }

  get exitCode(): ExitCode {
    return EXIT_BY_CODE[this.code];
  }
}

/** `shipper: what: why; try …` — the form of every error and warning on stderr. */
export function errorLine(error: unknown): string {
  const hint = error instanceof ShipperError && error.hint !== undefined ? `; ${error.hint}` : '';
  return `shipper: ${reasonOf(error)}${hint}`;
}

/** The one-line reason of anything that was thrown, without a stack. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/g, ' ');
}

/** The `code` of a Node system error (`ENOENT`), or undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

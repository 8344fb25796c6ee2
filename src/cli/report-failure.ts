import { ShipperError, errorLine, reasonOf, systemCode } from '../core/errors.js';
import { EXIT, type ExitCode } from '../core/exit-codes.js';

/** What a failed command prints on stderr, and its exit status. */
export interface FailureReport {
  readonly lines: readonly string[];
  readonly exitCode: ExitCode;
}

export interface FailureSetting {
  /** A command was to be wrapped, and it has not started. */
  readonly wrapping: boolean;
  /** Diagnostics are on: a defect shows its stack. */
  readonly debug: boolean;
}

/**
 * Turns anything that was thrown into one line that a person can act on. A stack is for defects
 * alone, and only for those who asked for debug output.
 */
export function reportFailure(error: unknown, setting: FailureSetting): FailureReport {
  const exitCode = setting.wrapping ? wrapperExitCode(error) : exitCodeOf(error);
  if (error instanceof ShipperError || isSystemError(error)) {
    return { lines: [errorLine(error)], exitCode };
  }
  const line = `shipper: internal error: ${reasonOf(error)}; please report the command line`;
  const stack = setting.debug && error instanceof Error ? [error.stack ?? ''] : [];
  return { lines: [line, ...stack], exitCode };
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof ShipperError) return error.exitCode;
  return isSystemError(error) ? EXIT.io : EXIT.internal;
}

/** In front of a wrapped command, 64 or 74 would look like the command's own status. */
function wrapperExitCode(error: unknown): ExitCode {
  const code = exitCodeOf(error);
  return code === EXIT.notFound || code === EXIT.notExecutable ? code : EXIT.wrapperFailed;
}

/** A failed system call that nobody gave a better message. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && systemCode(error) !== undefined && 'syscall' in error;
}

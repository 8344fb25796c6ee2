import type { Options } from '../core/options.js';

/** What a command is given: everything that it may know about how it was started. */
export interface Invocation {
  readonly options: Options;
  /** The words after the options: for `run`, the command and its arguments. Empty otherwise. */
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

import { ShipperError, reasonOf } from '../core/errors.js';
import type { FileSystem } from '../disk/file-system.js';

/**
 * The bearer token, from a file or from the environment, and from nowhere else: a command line is
 * seen by everybody. The file is read again when the token is refused, so that it can be rotated.
 */
export class TokenSource {
  readonly #fs: FileSystem;
  readonly #file: string | undefined;
  readonly #fromEnvironment: string | undefined;
  #token: string | undefined;

  constructor(fs: FileSystem, file: string | undefined, fromEnvironment: string | undefined) {
    this.#fs = fs;
    this.#file = file;
    this.#fromEnvironment = fromEnvironment;
  }

  /** Undefined when there is none. Before the first `read` as well. */
  get token(): string | undefined {
    return this.#token;
  }

  /** @throws ShipperError `config` when the file cannot be read or is empty; the old token stays */
  async read(): Promise<void> {
    if (this.#file === undefined) {
      this.#token = this.#fromEnvironment?.trim();
      return;
    }
    const token = await this.#readFile(this.#file);
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw new ShipperError('config', `the token file ${this.#file} does not hold one token`, {
        hint: 'put the token alone into it, on one line',
      });
    }
    this.#token = token;
  }

  async #readFile(file: string): Promise<string> {
    try {
      return (await this.#fs.readFile(file)).toString('utf8').trim();
    } catch (error) {
      throw new ShipperError('config', `cannot read the token file ${file}: ${reasonOf(error)}`, {
        hint: 'check --token-file and its permissions',
        cause: error,
      });
    }
  }
}

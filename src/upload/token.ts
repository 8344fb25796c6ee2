import { ShipperError, reasonOf } from '../core/errors.js';
import type { FileSystem } from '../disk/file-system.js';

/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

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

  /**
   * Returns whether the token is another one than before.
   *
   * @throws ShipperError `config` when it cannot be read or is none; the old token stays
   */
  async read(): Promise<boolean> {
    const old = this.#token;
    this.#token = this.#file === undefined ? this.#environment() : await this.#readFile(this.#file);
    return this.#token !== old;
  }

  #environment(): string | undefined {
    const token = this.#fromEnvironment?.trim() ?? '';
    if (token === '') return undefined;
    if (TOKEN.test(token)) return token;
    throw new ShipperError('config', 'SHIPPER_TOKEN does not hold one token', {
      hint: 'put the token alone into it',
    });
  }

  async #readFile(file: string): Promise<string> {
    const token = (await this.#contentOf(file)).trim();
    if (TOKEN.test(token)) return token;
    throw new ShipperError('config', `the token file ${file} does not hold one token`, {
      hint: 'put the token alone into it, on one line',
    });
  }

  async #contentOf(file: string): Promise<string> {
    try {
      return (await this.#fs.readFile(file)).toString('utf8');
    } catch (error) {
      throw new ShipperError('config', `cannot read the token file ${file}: ${reasonOf(error)}`, {
        hint: 'check --token-file and its permissions',
        cause: error,
      });
    }
  }
}

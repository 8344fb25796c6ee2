import { Archive, type ArchiveParts } from '../archive/archive.js';
import { NativeProtocol } from '../archive/protocol.js';
import { reasonOf, systemCode } from '../core/errors.js';
import type { Answer, ExchangeRequest } from '../core/exchange.js';
import type { Transport } from './transport.js';

/** Delivers into an archive directory on this machine, by the same protocol as over the network. */
export class DirTransport implements Transport {
  readonly #parts: ArchiveParts;
  readonly #path: string;
  #opening: Promise<{ archive: Archive; protocol: NativeProtocol }> | undefined;
  #isClosed = false;

  constructor(parts: ArchiveParts, path: string) {
    this.#parts = parts;
    this.#path = path;
  }

  async send(request: ExchangeRequest): Promise<Answer> {
    if (this.#isClosed) return { kind: 'failure', code: 'ABORT_ERR', reason: 'it is closed' };
    try {
      return await (await this.#opened()).protocol.handle(request);
    } catch (error) {
      return { kind: 'failure', code: systemCode(error) ?? 'UNKNOWN', reason: reasonOf(error) };
    }
  }

  renew(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.archive.close();
  }

  /**
   * Opened once: a second archive over the same files would cut off what the first is writing. Only
   * an opening that failed is tried again, when the directory may be there.
   */
  async #opened(): Promise<{ archive: Archive; protocol: NativeProtocol }> {
    const opening = (this.#opening ??= this.#open());
    try {
      return await opening;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  async #open(): Promise<{ archive: Archive; protocol: NativeProtocol }> {
    const archive = await Archive.open(this.#path, this.#parts);
    return { archive, protocol: new NativeProtocol(archive) };
  }
}

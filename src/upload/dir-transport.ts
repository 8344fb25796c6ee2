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

  constructor(parts: ArchiveParts, path: string) {
    this.#parts = parts;
    this.#path = path;
  }

  async send(request: ExchangeRequest): Promise<Answer> {
    try {
      this.#opening ??= this.#open();
      return await (await this.#opening).protocol.handle(request);
    } catch (error) {
      // The directory may be created, or the disk have room, by the next attempt.
      await this.close();
      return { kind: 'failure', code: systemCode(error) ?? 'UNKNOWN', reason: reasonOf(error) };
    }
  }

  renew(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    const opened = await opening?.catch(() => undefined);
    await opened?.archive.close();
  }

  async #open(): Promise<{ archive: Archive; protocol: NativeProtocol }> {
    const archive = await Archive.open(this.#path, this.#parts);
    return { archive, protocol: new NativeProtocol(archive) };
  }
}

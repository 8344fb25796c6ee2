import type { Options } from '../../core/options.js';
import type { Logger } from '../../telemetry/log.js';
import type { FromWorker } from '../../upload/worker-messages.js';

type LogMessage = Extract<FromWorker, { kind: 'log' }>;

/**
 * Prints the uploader's diagnostics on our stderr, between the command's own lines. The logger is
 * loaded with the first message: most runs have none.
 */
export class DeliveryLog {
  readonly #options: Options;
  readonly #write: (line: string) => void;
  #logger: Promise<Logger> | undefined;

  /** @param write takes a line with its newline */
  constructor(options: Options, write: (line: string) => void) {
    this.#options = options;
    this.#write = write;
  }

  write({ level, fields, message }: LogMessage): void {
    this.#logger ??= this.#load();
    void this.#logger.then((logger) => {
      logger[level](fields, message);
    });
  }

  async #load(): Promise<Logger> {
    const { createLogger } = await import('../../telemetry/logger.js');
    const { logLevel: level, logFormat: format } = this.#options;
    return createLogger({ level, format, write: this.#write });
  }
}

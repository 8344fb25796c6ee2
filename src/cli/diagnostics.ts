import type { Options } from '../core/options.js';
import type { Logger } from '../telemetry/log.js';
import { printNotice } from './output.js';

/** Shipper's own diagnostics, on stderr. The library behind them is loaded by the first call. */
export async function createDiagnostics(options: Options): Promise<Logger> {
  const { createLogger } = await import('../telemetry/logger.js');
  return createLogger({
    level: options.logLevel,
    format: options.logFormat,
    write: (line) => {
      printNotice(line.trimEnd());
    },
  });
}

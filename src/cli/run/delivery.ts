import type { Options } from '../../core/options.js';
import type { SpoolLayout } from '../../spool/layout.js';
import type { RunRecord } from '../../spool/run-record.js';

export interface Delivery {
  end(timeoutMs: number, signalled: Promise<void>): Promise<void>;
  lastError(): string | undefined;
}

export function startDelivery(_o: Options, _l: SpoolLayout, _r: RunRecord): Delivery {
  return { end: () => Promise.resolve(), lastError: () => undefined };
}

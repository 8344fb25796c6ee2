import type { LogFields, Logger } from '../telemetry/log.js';
import type { DeliveryReport } from './delivery.js';

/** What the wrapper tells its uploader. */
export interface ToWorker {
  readonly kind: 'stop';
}

/** What the uploader tells its wrapper; nothing that capture depends on. */
export type FromWorker =
  | {
      readonly kind: 'log';
      readonly level: keyof Logger;
      readonly fields: LogFields;
      readonly message: string;
    }
  | { readonly kind: 'report'; readonly report: DeliveryReport }
  /** It could not start or has met a defect; the run stays in the spool. */
  | { readonly kind: 'failed'; readonly reason: string };

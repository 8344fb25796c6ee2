import type { Options } from '../core/options.js';
import type { DeliverySettings } from '../upload/delivery.js';
import { userAgent } from './version.js';

/** What is delivered, and where to. */
export type DeliveryScope = Pick<DeliverySettings, 'spoolRoot' | 'runId' | 'to'>;

/** The settings of an uploader: it is the same one in `run` and in `drain`, for another scope. */
export function deliverySettings(
  scope: DeliveryScope,
  options: Options,
  environment: NodeJS.ProcessEnv,
): DeliverySettings {
  return {
    ...scope,
    tokenFile: options.tokenFile,
    token: environment['SHIPPER_TOKEN'],
    userAgent: userAgent(),
    cycleDeadlineMs: options.cycleDeadline,
    maxInFlight: options.maxInFlight,
    batchMaxBytes: options.batchMaxBytes,
  };
}

import type { DeliveryReport } from '../../../src/upload/delivery.js';

/** A delivery that did all it could, and what a test wants different. */
export function aDelivery(changes: Partial<DeliveryReport>): DeliveryReport {
  return {
    end: 'done',
    stats: { requests: 3, batches: 1, entries: 1234, bytes: 2048, retries: 0 },
    credentialsRefused: false,
    lastError: undefined,
    skipped: [],
    ...changes,
  };
}

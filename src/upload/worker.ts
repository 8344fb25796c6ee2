import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../core/errors.js';
import type { LogFields, Logger } from '../telemetry/log.js';
import { Delivery, type DeliverySettings } from './delivery.js';
import type { FromWorker, ToWorker } from './worker-messages.js';

/**
 * The uploader of a `run`, in a thread of its own: whatever happens to it, capture goes on. It
 * learns of the run's end from the disk, like any other uploader, and ends by itself when the run
 * is delivered.
 */
const tell = (message: FromWorker): void => {
  parentPort?.postMessage(message);
};

const logTo =
  (level: keyof Logger) =>
  (fields: LogFields, message: string): void => {
    tell({ kind: 'log', level, fields, message });
  };

const log: Logger = {
  debug: logTo('debug'),
  info: logTo('info'),
  warn: logTo('warn'),
  error: logTo('error'),
};

try {
  const delivery = new Delivery(workerData as DeliverySettings, log);
  // There is one thing that it can be told.
  parentPort?.on('message', (_stop: ToWorker) => {
    delivery.stop();
  });
  tell({ kind: 'report', report: await delivery.run({ kind: 'run-over' }) });
} catch (error) {
  tell({ kind: 'failed', reason: reasonOf(error) });
}
// The port alone would keep the thread alive.
parentPort?.close();

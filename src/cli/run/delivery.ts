import { Worker } from 'node:worker_threads';
import { reasonOf } from '../../core/errors.js';
import type { Options } from '../../core/options.js';
import { within } from '../../core/within.js';
import type { SpoolLayout } from '../../spool/layout.js';
import type { RunRecord } from '../../spool/run-record.js';
import type { FromWorker, ToWorker } from '../../upload/worker-messages.js';
import { deliverySettings } from '../delivery-settings.js';

/** How long a told uploader may take to note what was acknowledged before it is ended. */
const STOP_LIMIT_MS = 2_000;

export interface DeliveryStart {
  readonly options: Options;
  readonly environment: NodeJS.ProcessEnv;
  readonly layout: SpoolLayout;
  readonly record: RunRecord;
  readonly log: (message: Extract<FromWorker, { kind: 'log' }>) => void;
}

/**
 * The uploader of our run, seen from the wrapper. Nothing that goes wrong in it reaches the
 * command.
 */
export class Delivery {
  readonly #worker: Worker | undefined;
  readonly #ended: Promise<void>;
  #lastError: string | undefined;

  private constructor(worker: Worker | undefined, log: DeliveryStart['log']) {
    this.#worker = worker;
    this.#ended = new Promise((resolve) => {
      if (worker === undefined) resolve();
      worker?.once('exit', () => {
        resolve();
      });
    });
    worker?.on('error', (error) => {
      this.#lastError = reasonOf(error);
    });
    worker?.on('message', (message: FromWorker) => {
      if (message.kind === 'log') log(message);
      else if (message.kind === 'failed') this.#lastError = message.reason;
      else this.#lastError = message.report.lastError;
    });
  }

  /** Without destinations there is none: the run stays in the spool. */
  static start(start: DeliveryStart): Delivery {
    const { options, environment, layout, record } = start;
    if (record.destinations.length === 0) return new Delivery(undefined, start.log);
    const scope = { spoolRoot: layout.root, runId: record.id, to: record.destinations };
    const worker = new Worker(new URL('../../upload/worker.js', import.meta.url), {
      workerData: deliverySettings(scope, options, environment),
    });
    return new Delivery(worker, start.log);
  }

  /** The newest trouble in words; undefined when there was none, or it is over. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /**
   * Waits until the run is delivered, for at most this long, or until `giveUp` resolves; then ends
   * the uploader. What it has not delivered stays in the spool.
   */
  async end(timeoutMs: number, giveUp: Promise<void>): Promise<void> {
    if (this.#worker === undefined) return;
    await within(Promise.race([this.#ended, giveUp]), timeoutMs);
    const stop: ToWorker = { kind: 'stop' };
    this.#worker.postMessage(stop);
    await within(this.#ended, STOP_LIMIT_MS);
    await this.#worker.terminate();
  }
}

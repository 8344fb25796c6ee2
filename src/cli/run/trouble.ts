import type { Clock } from '../../core/clock.js';
import { reasonOf } from '../../core/errors.js';
import type { WriterTrouble } from '../../spool/stream-writer.js';

/** Overload may drop thousands of times a second; a person needs to hear of it now and then. */
const WARN_EVERY_MS = 10_000;

/**
 * Tells a person what the spool could not take: at once, then at most every 10 s with the running
 * total, and once more at the end.
 */
export class TroubleReporter {
  readonly #clock: Clock;
  readonly #notify: (line: string) => void;
  #entries = 0;
  #bytes = 0;
  #untold = 0;
  #reason = '';
  #lastWarnedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, notify: (line: string) => void) {
    this.#clock = clock;
    this.#notify = notify;
  }

  report(trouble: WriterTrouble): void {
    this.#reason = reasonOf(trouble.error);
    if (trouble.kind === 'seal-failed') {
      this.#notify(
        `shipper: cannot seal a segment of ${trouble.stream}: ${this.#reason}; ` +
          'its entries are on disk, the next shipper drain delivers them',
      );
      return;
    }
    this.#entries += trouble.gap.entries;
    this.#bytes += trouble.gap.bytes;
    this.#untold += trouble.gap.entries;
    if (this.#clock.monotonicMs() - this.#lastWarnedMs >= WARN_EVERY_MS) this.#warn();
  }

  /** Says what was not told yet. */
  finish(): void {
    if (this.#untold > 0) this.#warn();
  }

  #warn(): void {
    this.#lastWarnedMs = this.#clock.monotonicMs();
    this.#untold = 0;
    this.#notify(
      `shipper: cannot write to the spool: ${this.#reason}; ` +
        `${String(this.#entries)} entries (${String(this.#bytes)} bytes) dropped so far, ` +
        'a gap entry counts them; make room on that disk or choose another with --spool',
    );
  }
}

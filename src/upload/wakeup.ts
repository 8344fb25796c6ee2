/** Lets one loop wait for whichever comes first of many things, without a listener for each. */
export class Wakeup {
  readonly #rung = new Set<string>();
  #isSet = false;
  #resolve: (() => void) | undefined;

  /** A run has something new. Remembered until somebody takes the news. */
  ring(runId: string): void {
    this.#rung.add(runId);
    this.notify();
  }

  get hasNews(): boolean {
    return this.#rung.size > 0;
  }

  /** The runs that have rung since the last time. */
  takeNews(): string[] {
    const ids = [...this.#rung];
    this.#rung.clear();
    return ids;
  }

  /** Ends the present wait, or the next one at once. */
  notify(): void {
    this.#isSet = true;
    this.#resolve?.();
  }

  /** Resolves at the next `notify`, or after this long. */
  async wait(limitMs: number): Promise<void> {
    if (!this.#isSet) await this.#waitFor(Math.min(limitMs, LONGEST_TIMER_MS));
    this.#isSet = false;
  }

  #waitFor(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#resolve = () => {
        clearTimeout(timer);
        this.#resolve = undefined;
        resolve();
      };
    });
  }
}

/** Node fires a timer at once that is longer than 2³¹ − 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Lets one loop wait for whichever comes first of many things, without a listener for each. */
export class Wakeup {
  #isSet = false;
  #resolve: (() => void) | undefined;

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

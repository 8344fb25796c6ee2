import type { Child } from './child.js';

/** What we pass on. The rest ends or stops us as it would any program. */
const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** A terminal sends these to the whole process group: the command has had them already. */
const FROM_TERMINAL: ReadonlySet<string> = new Set(['SIGINT', 'SIGQUIT']);

/**
 * Passes signals on to the command and survives them, so that its output and its end are captured.
 * Is in place before the command starts: a signal that comes earlier is passed on as soon as there
 * is a child.
 */
export class SignalForwarder {
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  readonly #early: NodeJS.Signals[] = [];
  #child: Child | undefined;
  #onAfterEnd: (() => void) | undefined;

  constructor() {
    for (const signal of FORWARDED) {
      const handler = (): void => {
        this.#forward(signal);
      };
      this.#handlers.set(signal, handler);
      process.on(signal, handler);
    }
  }

  attach(child: Child): void {
    this.#child = child;
    for (const signal of this.#early.splice(0)) this.#forward(signal);
  }

  /** The command has ended. A signal now means: do not wait any longer. */
  childEnded(onSignal: () => void): void {
    this.#child = undefined;
    this.#onAfterEnd = onSignal;
  }

  /** Gives the signals their default effect back. */
  remove(): void {
    for (const [signal, handler] of this.#handlers) process.removeListener(signal, handler);
  }

  #forward(signal: NodeJS.Signals): void {
    if (this.#onAfterEnd !== undefined) this.#onAfterEnd();
    else if (this.#child === undefined) this.#early.push(signal);
    else if (!(this.#child.sharesTerminal && FROM_TERMINAL.has(signal))) this.#child.signal(signal);
  }
}

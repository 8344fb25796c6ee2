/** Asks a long-running command to end: TERM and INT. A second one ends the process at once. */
export interface Termination {
  readonly signal: AbortSignal;
  /** Stops listening, so that the process can end by itself. */
  dispose(): void;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export function listenForTermination(): Termination {
  const controller = new AbortController();
  const dispose = (): void => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
  function end(): void {
    // Without a listener the next one has its default effect.
    dispose();
    controller.abort();
  }
  for (const signal of SIGNALS) process.on(signal, end);
  return { signal: controller.signal, dispose };
}

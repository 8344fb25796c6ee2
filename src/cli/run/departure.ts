import { departureFor } from '../../capture/exit-status.js';
import type { SignalForwarder } from '../../capture/signals.js';
import type { ExitStatus } from '../../core/run.js';

/**
 * Ends the wrapper as the command ended: the same code, or the same signal. Call it last: a signal
 * ends the process at once.
 */
export function depart(exit: ExitStatus, signals: SignalForwarder): void {
  const departure = departureFor(exit);
  process.exitCode = departure.code;
  signals.remove();
  // As pid 1 this is ignored, and the exit code set above remains.
  if (departure.kind === 'signal') endBy(departure.signal);
}

/**
 * Node ignores SIGPIPE, and libraries listen for others to clean up. Adding a listener and removing
 * all gives a signal its default effect back, whatever it was.
 */
function endBy(signal: NodeJS.Signals): void {
  if (signal !== 'SIGKILL') {
    process.on(signal, () => undefined);
    process.removeAllListeners(signal);
  }
  process.kill(process.pid, signal);
}

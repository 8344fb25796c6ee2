import type { ExitStatus } from '../core/run.js';
import { startChild } from './child.js';
import type { SignalForwarder } from './signals.js';

/**
 * Runs the command with our own stdout and stderr, because it cannot be captured: the command comes
 * first. Signals and its end are as for a captured one.
 *
 * @throws ShipperError of `startChild`
 */
export async function runUncaptured(
  command: readonly string[],
  environment: NodeJS.ProcessEnv,
  signals: SignalForwarder,
): Promise<ExitStatus> {
  const child = await startChild({ command, environment, output: 'inherit' });
  signals.attach(child);
  return child.exited;
}

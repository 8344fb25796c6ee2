import { describe, expect, it } from 'vitest';
import { SignalForwarder } from '../../src/capture/signals.js';
import { runUncaptured } from '../../src/capture/uncaptured.js';

async function run(command: readonly string[]): Promise<unknown> {
  const signals = new SignalForwarder();
  try {
    return await runUncaptured(command, process.env, signals);
  } finally {
    signals.remove();
  }
}

describe('runUncaptured', () => {
  it('tells how the command ended', async () => {
    expect(await run(['sh', '-c', 'exit 7'])).toEqual({ code: 7 });
    expect(await run(['sh', '-c', 'kill -HUP $$'])).toEqual({ signal: 'SIGHUP' });
  });

  it('says why a command cannot be started', async () => {
    await expect(run(['no-such-command'])).rejects.toMatchObject({ code: 'command-not-found' });
  });
});

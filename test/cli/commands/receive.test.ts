import { expect, it } from 'vitest';
import { ShipperError } from '../../../src/core/errors.js';
import { DEFAULTS, type Options } from '../../../src/core/options.js';
import { receiveCommand } from '../../../src/cli/commands/receive.js';
import { captureOutput } from '../../support/printed.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

function receive(options: Partial<Options>): Promise<void> {
  const dir = temporaryDirectory();
  const whole = { ...DEFAULTS, listen: '127.0.0.1:0', dir, ...options };
  return receiveCommand({ options: whole, command: [], environment: {} });
}

it.each([
  [true, /^\{"event":"listening",.*\}\n\{"event":"stopped",.*\}\n$/],
  [false, /^shipper: receiving on .*\nshipper: stopped after .*\n$/],
])('receive listens until it is told to end (json: %s)', async (json, text) => {
  const printed = captureOutput();
  const ended = receive({ json });
  await expect.poll(() => printed.stdout + printed.stderr).toMatch(/listening|receiving/);
  process.emit('SIGTERM');
  await ended;
  expect(json ? printed.stdout : printed.stderr).toMatch(text);
  expect(json ? printed.stderr : printed.stdout).toBe('');
});

it.each([{ listen: 'nowhere' }, { listen: '0.0.0.0:0' }, { tokenFile: '/nonexistent/token' }])(
  'receive refuses %j before it listens',
  async (options) => {
    await expect(receive(options)).rejects.toBeInstanceOf(ShipperError);
  },
);

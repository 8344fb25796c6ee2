import { expect, it } from 'vitest';
import { DEFAULTS } from '../../src/core/options.js';
import { createDiagnostics } from '../../src/cli/diagnostics.js';
import { captureOutput } from '../support/printed.js';

it('diagnostics go to stderr, as far as the level asks for them', async () => {
  const printed = captureOutput();
  const log = await createDiagnostics(DEFAULTS);
  log.info({}, 'a detail');
  log.warn({ attempt: 2 }, 'a warning');
  expect(printed).toEqual({ stdout: '', stderr: 'shipper: a warning (attempt=2)\n' });
});

it('diagnostics are JSON lines where they are asked for', async () => {
  const printed = captureOutput();
  const log = await createDiagnostics({ ...DEFAULTS, logLevel: 'debug', logFormat: 'json' });
  log.debug({ attempt: 2 }, 'a detail');
  expect(JSON.parse(printed.stderr)).toMatchObject({ level: 'debug', attempt: 2, msg: 'a detail' });
});

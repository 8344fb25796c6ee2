import { expect, it } from 'vitest';
import { DEFAULTS } from '../../../src/core/options.js';
import { statusCommand } from '../../../src/cli/commands/status.js';
import { PreparedRun } from '../../support/prepared-spool.js';
import { captureOutput } from '../../support/printed.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

function status(spool: string, json: boolean): Promise<void> {
  return statusCommand({ options: { ...DEFAULTS, spool, json }, command: [], environment: {} });
}

it('status prints a table', async () => {
  const spool = temporaryDirectory();
  const run = new PreparedRun(spool);
  await run.record();
  const printed = captureOutput();
  await status(spool, false);
  expect(printed.stdout).toContain(run.id);
});

it('status prints one document with --json', async () => {
  const spool = temporaryDirectory();
  const run = new PreparedRun(spool);
  await run.record();
  const printed = captureOutput();
  await status(spool, true);
  expect(JSON.parse(printed.stdout)).toMatchObject({ spool, runs: [{ id: run.id }] });
});

it('status of a spool that does not exist finds nothing', async () => {
  const spool = `${temporaryDirectory()}/none`;
  const printed = captureOutput();
  await status(spool, false);
  expect(printed.stdout).toBe(`nothing in the spool ${spool}\n`);
});

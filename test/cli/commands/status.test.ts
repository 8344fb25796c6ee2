import { afterEach, expect, it, vi } from 'vitest';
import { DEFAULTS } from '../../../src/core/options.js';
import { statusCommand } from '../../../src/cli/commands/status.js';
import { PreparedRun } from '../../support/prepared-spool.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

afterEach(() => {
  vi.restoreAllMocks();
});

async function status(spool: string, json: boolean): Promise<string> {
  let printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  const options = { ...DEFAULTS, spool, json };
  await statusCommand({ options, command: [], environment: {} });
  return printed;
}

it('status prints a table, and with --json one document', async () => {
  const spool = temporaryDirectory();
  const run = new PreparedRun(spool);
  run.sealed('stdout', ['a\n']);
  await run.record();
  expect(await status(spool, false)).toContain(run.id);
  expect(JSON.parse(await status(spool, true))).toMatchObject({ spool, runs: [{ id: run.id }] });
});

it('status of a spool that does not exist finds nothing', async () => {
  const spool = `${temporaryDirectory()}/none`;
  expect(await status(spool, false)).toBe(`nothing in the spool ${spool}\n`);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/exit-codes.js';
import { DEFAULTS, type Options } from '../../../src/core/options.js';
import { drainCommand } from '../../../src/cli/commands/drain.js';
import { PreparedRun } from '../../support/prepared-spool.js';
import { captureOutput } from '../../support/printed.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

afterEach(() => {
  process.exitCode = undefined;
});

function drain(options: Partial<Options>): Promise<void> {
  return drainCommand({ options: { ...DEFAULTS, ...options }, command: [], environment: {} });
}

it('drain delivers what is there and succeeds', async () => {
  const spool = temporaryDirectory();
  const archive = temporaryDirectory();
  const run = new PreparedRun(spool, { exit: { code: 0 } });
  run.sealed('stdout', ['a\n']);
  await run.record();
  const printed = captureOutput();
  await drain({ spool, to: [`dir:${archive}`], json: true });
  expect(process.exitCode).toBe(EXIT.ok);
  expect(JSON.parse(printed.stdout)).toMatchObject({ end: 'done', deliveredEntries: 1 });
  expect(readFileSync(join(archive, run.id, 'stdout.log'), 'utf8')).toBe('a\n');
});

it('drain asks to be run again when something is left', async () => {
  const spool = temporaryDirectory();
  const run = new PreparedRun(spool, { exit: { code: 0 } });
  run.sealed('stdout', ['a\n']);
  await run.record();
  const printed = captureOutput();
  await drain({ spool });
  expect(process.exitCode).toBe(EXIT.undelivered);
  expect(printed.stderr).toMatch(/^shipper: 1 entry .*; name a destination with --to <url>\n$/);
});

it('drain without a spool notes that there is nothing to deliver', async () => {
  const spool = `${temporaryDirectory()}/none`;
  const printed = captureOutput();
  await drain({ spool, json: true });
  expect(process.exitCode).toBeUndefined();
  expect(printed.stderr).toBe(`shipper: nothing to deliver: there is no spool ${spool}\n`);
  expect(JSON.parse(printed.stdout)).toMatchObject({ end: 'done', leftRuns: 0 });
});

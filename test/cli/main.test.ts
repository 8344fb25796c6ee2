import { afterEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/exit-codes.js';
import { main } from '../../src/cli/main.js';
import { captureOutput } from '../support/printed.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

afterEach(() => {
  process.exitCode = undefined;
});

function shipper(...words: string[]): Promise<void> {
  return main(['node', 'shipper', ...words]);
}

describe('main', () => {
  it('prints what was asked for on stdout, and leaves the exit code at success', async () => {
    const printed = captureOutput();
    await shipper('--version');
    expect(printed.stdout).toMatch(/^shipper /);
    expect(process.exitCode).toBeUndefined();
  });

  it('runs the command that is named', async () => {
    const printed = captureOutput();
    await shipper('status', '--json', '--spool', temporaryDirectory());
    expect(JSON.parse(printed.stdout)).toMatchObject({ runs: [] });
  });

  it.each([
    [['bogus'], EXIT.usage],
    [['status', '--bogus'], EXIT.usage],
    [['drain', '--timeout', '10'], EXIT.usage],
    [['run'], EXIT.wrapperFailed],
    [['run', '--bogus', '--', 'true'], EXIT.wrapperFailed],
    [['run', '--fsync', 'maybe', '--', 'true'], EXIT.wrapperFailed],
    [['--bogus', 'run', 'true'], EXIT.wrapperFailed],
  ])('says in one line what is wrong with %j, and sets the exit code', async (words, exitCode) => {
    const printed = captureOutput();
    await shipper(...words);
    expect(printed.stderr).toMatch(/^shipper: [^\n]+; [^\n]+\n$/);
    expect(printed.stdout).toBe('');
    expect(process.exitCode).toBe(exitCode);
  });
});

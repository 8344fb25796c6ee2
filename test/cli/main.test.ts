import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EXIT } from '../../src/core/exit-codes.js';
import { main } from '../../src/cli/main.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

let stdout = '';
let stderr = '';

beforeEach(() => {
  stdout = '';
  stderr = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

function shipper(...words: string[]): Promise<void> {
  return main(['node', 'shipper', ...words]);
}

describe('main', () => {
  it('prints what was asked for on stdout, and leaves the exit code at success', async () => {
    await shipper('--version');
    expect(stdout).toMatch(/^shipper /);
    expect(process.exitCode).toBeUndefined();
  });

  it('runs the command that is named', async () => {
    await shipper('status', '--json', '--spool', temporaryDirectory());
    expect(JSON.parse(stdout)).toMatchObject({ runs: [] });
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
    await shipper(...words);
    expect(stderr).toMatch(/^shipper: [^\n]+; [^\n]+\n$/);
    expect(stdout).toBe('');
    expect(process.exitCode).toBe(exitCode);
  });
});

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NODE_PATH, SHIPPER_PATH, shipper } from '../support/shipper.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** One line that says what, why and, after the semicolon, what to try. Never a stack. */
const ONE_LINE = /^shipper: [^\n]+; [^\n]+\n$/;

describe('bad input', () => {
  it.each([
    ['an unknown command', ['deliver'], 64, "unknown command 'deliver'"],
    ['a misspelled command', ['statsu'], 64, 'did you mean status?'],
    ['no command', [], 64, 'no command given'],
    ['an unknown option', ['drain', '--spol', 'x'], 64, 'did you mean --spool?'],
    ['an option of another command', ['status', '--listen', 'x'], 64, "unknown option '--listen'"],
    ['an option that is still to come', ['run', '--merge-streams', 'ls'], 125, 'unknown option'],
    ['a duration without unit', ['drain', '--timeout', '10'], 64, 'for example --timeout 10s'],
    ['a size without unit', ['drain', '--batch-max-bytes', '8'], 64, '--batch-max-bytes: "8"'],
    ['a count out of bounds', ['drain', '--max-in-flight', '0'], 64, '"0" is not a whole number'],
    ['an unknown choice', ['status', '--log-level', 'loud'], 64, 'debug, info, warn'],
    ['a missing value', ['drain', '--spool'], 64, "option '--spool <dir>' argument missing"],
    ['no wrapped command', ['run', '--'], 125, 'there is no command to wrap'],
    ['a bad value for run', ['run', '--fsync', 'x', '--', 'true'], 125, '--fsync'],
  ])('%s is refused in one line', async (_what, args, code, text) => {
    const result = await shipper(args);
    expect(result.stderr.toString()).toMatch(ONE_LINE);
    expect(result.stderr.toString()).toContain(text);
    expect(result.stdout.length).toBe(0);
    expect(result.code).toBe(code);
  });

  it('a variable that does not parse is configuration, and named', async () => {
    const environment = { SHIPPER_JSON: 'maybe' };
    const { code, stderr } = await shipper(['status'], { environment });
    expect(stderr.toString()).toContain('SHIPPER_JSON: "maybe" is not true or false');
    expect(code).toBe(78);
  });

  it.each(['status', 'drain'])('%s refuses a spool that is a file', async (command) => {
    const spool = join(temporaryDirectory(), 'file');
    writeFileSync(spool, 'mine');
    const { code, stderr } = await shipper([command, '--spool', spool]);
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toContain(`cannot use the spool ${spool}: it is a file`);
    expect(code).toBe(74);
  });

  it.each(['status', 'drain'])('%s refuses a spool below a file', async (command) => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, 'mine');
    const { code, stderr } = await shipper([command, '--spool', join(file, 'spool')]);
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toContain('ENOTDIR');
    expect(code).toBe(74);
  });
});

describe('output of our own', () => {
  it('ends quietly when its reader goes away', async () => {
    const spool = temporaryDirectory();
    mkdirSync(join(spool, 'runs'));
    const child = spawn(NODE_PATH, [SHIPPER_PATH, 'status', '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const stderr: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(Buffer.concat(stderr).toString()).toBe('');
    expect(code).toBe(0);
  });

  it('help and version go to stdout, with success', async () => {
    for (const args of [['--help'], ['help', 'run'], ['run', '--help'], ['--version']]) {
      const { code, stdout, stderr } = await shipper(args);
      expect(stdout.length).toBeGreaterThan(0);
      expect(stderr.length).toBe(0);
      expect(code).toBe(0);
    }
  });

  it('a variable sets what a flag sets, and a flag wins', async () => {
    const spool = temporaryDirectory();
    const environment = { SHIPPER_SPOOL: spool, SHIPPER_JSON: '1' };
    const byVariable = await shipper(['status'], { environment });
    expect(JSON.parse(byVariable.stdout.toString())).toMatchObject({ spool });
    const byFlag = await shipper(['status', '--spool', `${spool}/other`], { environment });
    expect(JSON.parse(byFlag.stdout.toString())).toMatchObject({ spool: `${spool}/other` });
  });
});

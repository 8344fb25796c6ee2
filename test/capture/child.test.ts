import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { captured } from '../support/captured.js';

describe('startChild', () => {
  it('gives the command our environment, the run id, and never the token', async () => {
    const environment = {
      ...process.env,
      SHIPPER_TOKEN: 'canary-secret',
      SHIPPER_SPOOL: '/x',
      KEPT: 'yes',
    };
    const { stdout } = await captured(['env'], environment);
    const lines = stdout.toString().split('\n');
    expect(lines).toContain('KEPT=yes');
    expect(lines).toContain('SHIPPER_SPOOL=/x');
    expect(lines).toContain('SHIPPER_RUN_ID=01TEST');
    expect(stdout.toString()).not.toContain('canary-secret');
  });

  it('passes arguments as they are, without a shell', async () => {
    const words = ['a b', '$HOME', '*', '', '"quoted"', 'line\nbreak', '--help'];
    const { stdout } = await captured(['printf', '%s|', ...words]);
    expect(stdout.toString()).toBe(words.map((word) => `${word}|`).join(''));
  });

  it('changes neither the directory nor the file mode mask', async () => {
    const script = 'pwd; umask';
    const without = spawnSync('sh', ['-c', script]);
    const { stdout } = await captured(['sh', '-c', script]);
    expect(stdout.toString()).toBe(without.stdout.toString());
  });
});

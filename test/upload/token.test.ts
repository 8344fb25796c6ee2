import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { TokenSource } from '../../src/upload/token.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('TokenSource', () => {
  it('has none when nobody gave one', async () => {
    const source = new TokenSource(nodeFileSystem, undefined, undefined);
    await source.read();
    expect(source.token).toBeUndefined();
  });

  it('takes the one of the environment', async () => {
    const source = new TokenSource(nodeFileSystem, undefined, ' secret\n');
    await source.read();
    expect(source.token).toBe('secret');
  });

  it('has none when the environment holds nothing', async () => {
    const source = new TokenSource(nodeFileSystem, undefined, ' \n');
    expect(await source.read()).toBe(false);
    expect(source.token).toBeUndefined();
  });

  it('refuses what no header can carry, and does not show it', async () => {
    const source = new TokenSource(nodeFileSystem, undefined, 'SECRET\nmore');
    const error: unknown = await source.read().catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'config',
      message: 'SHIPPER_TOKEN does not hold one token',
    });
    expect(JSON.stringify(error)).not.toContain('SECRET');
  });

  it('says whether the token is another one', async () => {
    const file = join(temporaryDirectory(), 'token');
    const source = new TokenSource(nodeFileSystem, file, undefined);
    const answers: boolean[] = [];
    for (const content of ['first', 'first\n', 'second']) {
      writeFileSync(file, content);
      answers.push(await source.read());
    }
    expect(answers).toEqual([true, false, true]);
  });

  it('reads the file anew each time, and prefers it', async () => {
    const file = join(temporaryDirectory(), 'token');
    writeFileSync(file, 'first\n');
    const source = new TokenSource(nodeFileSystem, file, 'other');
    await source.read();
    expect(source.token).toBe('first');
    writeFileSync(file, 'second');
    await source.read();
    expect(source.token).toBe('second');
  });

  it('keeps the old one, and says what is wrong, when the file cannot be used', async () => {
    const file = join(temporaryDirectory(), 'token');
    writeFileSync(file, 'first');
    const source = new TokenSource(nodeFileSystem, file, undefined);
    await source.read();
    for (const content of ['', 'two words', 'two\nlines']) {
      writeFileSync(file, content);
      await expect(source.read()).rejects.toMatchObject({
        code: 'config',
        message: `the token file ${file} does not hold one token`,
      });
    }
    rmSync(file);
    await expect(source.read()).rejects.toMatchObject({ code: 'config' });
    expect(source.token).toBe('first');
  });
});

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ShipperError } from '../../src/core/errors.js';
import { DEFAULTS } from '../../src/core/options.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { findSpool, spoolRootOf } from '../../src/cli/spool-location.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('spoolRootOf', () => {
  it('is the option, made absolute', () => {
    expect(spoolRootOf({ ...DEFAULTS, spool: 'here' }, {})).toBe(join(process.cwd(), 'here'));
  });

  it('is the place for state of the XDG specification otherwise', () => {
    expect(spoolRootOf(DEFAULTS, { XDG_STATE_HOME: '/state' })).toBe('/state/shipper/spool');
    expect(spoolRootOf(DEFAULTS, { XDG_STATE_HOME: 'relative' })).toBe(
      join(homedir(), '.local/state/shipper/spool'),
    );
  });
});

describe('findSpool', () => {
  it('finds a directory, also behind a symbolic link', async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'spool'));
    symlinkSync('spool', join(root, 'link'));
    expect((await findSpool(nodeFileSystem, join(root, 'spool')))?.runs).toBe(
      join(root, 'spool', 'runs'),
    );
    expect(await findSpool(nodeFileSystem, join(root, 'link'))).toBeDefined();
  });

  it('takes a missing one for an empty one', async () => {
    expect(await findSpool(nodeFileSystem, join(temporaryDirectory(), 'none'))).toBeUndefined();
  });

  it.each([
    ['file', /it is a file$/],
    ['file/below', /ENOTDIR/],
    ['link-to-file', /ENOTDIR/],
    ['dangling', /ENOENT/],
  ])('refuses %s with what to try', async (name, message) => {
    const root = temporaryDirectory();
    writeFileSync(join(root, 'file'), '');
    symlinkSync('file', join(root, 'link-to-file'));
    symlinkSync('nowhere', join(root, 'dangling'));
    const error: unknown = await findSpool(nodeFileSystem, join(root, name)).catch(
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof ShipperError)) throw error;
    expect(error.code).toBe('spool-unusable');
    expect(error.message).toMatch(message);
    expect(error.hint).toContain('--spool');
  });
});

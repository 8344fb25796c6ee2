import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { shipperVersion } from '../../src/cli/version.js';

it('the version is that of the package', () => {
  const path = new URL('../../package.json', import.meta.url);
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
  expect(shipperVersion()).toBe(manifest.version);
});

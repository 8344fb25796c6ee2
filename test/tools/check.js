// The gate: runs every `check:…` script of package.json in order, all of them, and names those that
// failed. `npm run check -- lint types` runs only these.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const prefix = 'check:';

/** @returns {string[]} names of the steps, without the prefix */
function allSteps() {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', `file://${root}`), 'utf8'));
  return Object.keys(scripts)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
}

/**
 * @param {string} step
 * @returns {boolean} whether it passed
 */
function passes(step) {
  const startMs = performance.now();
  console.log(`── ${step}`);
  const { status } = spawnSync('npm', ['run', '--silent', prefix + step], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`── ${step}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s\n`);
  return status === 0;
}

const wanted = process.argv.slice(2);
const steps = wanted.length > 0 ? wanted : allSteps();
const failed = steps.filter((step) => !passes(step));
console.log(failed.length > 0 ? `check failed: ${failed.join(', ')}` : 'check passed');
process.exitCode = failed.length > 0 ? 1 : 0;

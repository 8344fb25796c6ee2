// `npm run docs`: makes the generated parts of README.md anew from the built program.

import { readFileSync, writeFileSync } from 'node:fs';
import { ready } from './ready.js';
import { withGeneratedParts } from './readme-parts.js';

ready();

const path = new URL('../../README.md', import.meta.url);
const readme = readFileSync(path, 'utf8');
const current = withGeneratedParts(readme, {
  help: await import(built('cli/help-text.js')),
  options: await import(built('core/options.js')),
  exitCodes: await import(built('core/exit-codes.js')),
});
if (current !== readme) writeFileSync(path, current);
console.log(current === readme ? 'README.md is current' : 'README.md made anew');

/** @param {string} name */
function built(name) {
  return new URL(`../../dist/${name}`, import.meta.url).href;
}

#!/usr/bin/env node
// Launcher without logic: loads the compiled program, or says how to compile it.

import { fileURLToPath } from 'node:url';

/** @typedef {{ main: (argv: readonly string[]) => Promise<void> }} Program sets the exit code. */

const exitConfiguration = 78;
const program = new URL('../dist/cli/main.js', import.meta.url);

/** Only the program itself may be missing: any other missing module is a defect and is thrown. */
function isProgramMissing(/** @type {unknown} */ error) {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    'url' in error &&
    error.url === program.href
  );
}

try {
  const compiled = /** @type {Program} */ (await import(program.href));
  await compiled.main(process.argv);
} catch (error) {
  if (!isProgramMissing(error)) throw error;
  const folder = fileURLToPath(new URL('..', import.meta.url));
  process.stderr.write(
    `shipper: not built yet: run 'npm run build' (or 'npm start') in ${folder}\n`,
  );
  process.exitCode = exitConfiguration;
}

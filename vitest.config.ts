import { defineConfig } from 'vitest/config';

/** `.ci/run` adds up the results of several runs from such files. */
const report = process.env['SHIPPER_TEST_REPORT'];

export default defineConfig({
  test: {
    // A small CI machine has two cores; more workers would only slow each other's children.
    maxWorkers: 2,
    // Real processes and disks on a busy machine: a limit for what hangs, not for what is slow.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    setupFiles: ['test/tools/fail-on-warning.ts'],
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    outputFile: report === undefined ? {} : { json: report },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/tools/build-first.ts'],
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: [['text', { skipFull: true }], 'html'],
      // Where a line that no test reaches may cost data. No number for the whole: it would invite
      // tests of what is easy to reach.
      thresholds: {
        'src/core/**': { lines: 95 },
        'src/frames/**': { lines: 95 },
        'src/spool/**': { lines: 95 },
      },
    },
  },
});

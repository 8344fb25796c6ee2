import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A new empty directory that is removed when the running test has ended. Call it inside a test. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'shipper-test-'));
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

import { onTestFinished, vi } from 'vitest';

/** What the code under test prints from now on until the test ends; nothing of it is shown. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** Call it inside a test. */
export function captureOutput(): Printed {
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    const spy = vi.spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    });
    onTestFinished(() => {
      spy.mockRestore();
    });
  }
  return printed;
}

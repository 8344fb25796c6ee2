import { reasonOf } from '../../core/errors.js';
import { runDirectory, writerLockPath, type SpoolLayout } from '../../spool/layout.js';
import type { Lock } from '../../spool/lock.js';

/**
 * Takes the writer's lock of our own run, in the background: the run is new and its id is unique,
 * so nobody competes for it, and `run.json` names the writer already. The lock is for those who
 * find that record damaged.
 */
export function holdWriterLock(
  layout: SpoolLayout,
  runId: string,
  notify: (line: string) => void,
): Lock {
  const taking = takeLock(layout, runId).catch((error: unknown) => {
    notify(`shipper: cannot lock the run ${runId}: ${reasonOf(error)}; going on without the lock`);
    return undefined;
  });
  return {
    release: async () => {
      await (await taking)?.release();
    },
  };
}

async function takeLock(layout: SpoolLayout, runId: string): Promise<Lock | undefined> {
  const { acquireLock } = await import('../../spool/lock.js');
  const path = writerLockPath(runDirectory(layout, runId));
  const attempt = await acquireLock(path, () => undefined);
  return attempt.kind === 'acquired' ? attempt.lock : undefined;
}

import { basename } from 'node:path';
import { watch } from 'chokidar';
import { isRunId } from '../core/run-id.js';
import type { SpoolLayout } from '../spool/layout.js';

/** Rings that come close together may be reported once: look again when they must be over. */
const LOOK_AGAIN_MS = 50;

/** Ends the watching. */
export interface Watcher {
  close(): Promise<void>;
}

/**
 * Calls back with the id of a run that has sealed something. Only the bells are watched, never a
 * folder of segments, whose watching would take seconds and hundreds of megabytes.
 *
 * What cannot be watched (too many watches, a strange file system) is found by rescans, a little
 * later.
 *
 * @param runId only this run's bell; undefined for all
 */
export function watchBells(
  layout: SpoolLayout,
  runId: string | undefined,
  onRing: (runId: string) => void,
): Watcher {
  const recent = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const bells = watch(layout.wake, {
    ignoreInitial: true,
    depth: 0,
    // Without this each event costs a stat of every bell.
    alwaysStat: false,
    ignored: (path) => runId !== undefined && path !== layout.wake && !path.endsWith(runId),
  });
  bells.on('all', (_, path) => {
    const rung = basename(path);
    if (!isRunId(rung)) return;
    onRing(rung);
    recent.add(rung);
    timer ??= setTimeout(() => {
      timer = undefined;
      for (const id of recent) onRing(id);
      recent.clear();
    }, LOOK_AGAIN_MS);
  });
  bells.on('error', () => undefined);
  return {
    close: async () => {
      clearTimeout(timer);
      await bells.close();
    },
  };
}

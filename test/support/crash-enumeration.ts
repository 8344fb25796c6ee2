import type { SimulatedDisk } from './simulated-disk.js';

/** A script whose process was killed. */
export interface Crash {
  /** As the process has left it. */
  readonly disk: SimulatedDisk;
  /** After how many operations, and after how many bytes of the next one. For messages. */
  readonly point: string;
}

export interface CrashScript {
  /** The disk that the script finds. */
  readonly newDisk: () => Promise<SimulatedDisk>;
  /** May throw when it is killed. */
  readonly run: (disk: SimulatedDisk) => Promise<void>;
}

/**
 * Runs a script again and again, each time on a new disk, and kills its process after every one of
 * its operations in turn. The last visit is of the script that came to its end.
 *
 * @returns how many points were visited
 */
export async function visitCrashes(
  script: CrashScript,
  visit: (crash: Crash) => Promise<void>,
): Promise<number> {
  let stopAfter = 0;
  while ((await crash(script, stopAfter, 0, visit)).stoppedIn !== undefined) stopAfter += 1;
  return stopAfter + 1;
}

/** As `visitCrashes`, and within each append, after some of its bytes and after all of them. */
export async function visitCrashesWithinAppends(
  script: CrashScript,
  visit: (crash: Crash) => Promise<void>,
): Promise<number> {
  let visited = 0;
  for (let stopAfter = 0; ; stopAfter += 1) {
    const { stoppedIn } = await crash(script, stopAfter, 0, visit);
    visited += 1;
    if (stoppedIn === undefined) return visited;
    const { bytes } = stoppedIn;
    const parts = new Set([1, bytes >> 1, bytes - 1, bytes].filter((part) => part > 0));
    if (bytes === 0) continue;
    for (const part of parts) await crash(script, stopAfter, part, visit);
    visited += parts.size;
  }
}

async function crash(
  { newDisk, run }: CrashScript,
  stopAfter: number,
  stopWithBytes: number,
  visit: (crash: Crash) => Promise<void>,
): Promise<SimulatedDisk> {
  const disk = Object.assign(await newDisk(), { stopAfter, stopWithBytes });
  try {
    await run(disk);
  } catch (error) {
    if (disk.stoppedIn === undefined) throw error;
  }
  await visit({ disk, point: `${String(stopAfter)} + ${String(stopWithBytes)} bytes` });
  return disk;
}

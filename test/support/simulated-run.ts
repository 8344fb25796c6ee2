import { join } from 'node:path';
import type { Clock } from '../../src/core/clock.js';
import type { StreamName } from '../../src/core/stream.js';
import { makeDirectories } from '../../src/disk/durable.js';
import { scanFrames, type PlacedFrame, type ScanEnd } from '../../src/frames/scan.js';
import { runDirectory, spoolLayout, type SpoolLayout } from '../../src/spool/layout.js';
import { arrange } from '../../src/spool/listing.js';
import type { RunRecord } from '../../src/spool/run-record.js';
import { deadIdentity } from './prepared-spool.js';
import { SimulatedDisk } from './simulated-disk.js';

/** The one run of a simulated spool. */
export const RUN_ID = '01KBCDEFGHJKMNPQRSTVWXYZ00';
export const LAYOUT: SpoolLayout = spoolLayout('/spool');
export const DIRECTORY: string = runDirectory(LAYOUT, RUN_ID);

export const RECORD: RunRecord = {
  v: 1,
  id: RUN_ID,
  name: 'simulated',
  command: ['true'],
  labels: {},
  host: 'here',
  pid: 1,
  startedAt: '2025-12-01T00:00:00.000Z',
  shipperVersion: '0.0.0',
  destinations: [],
  writer: deadIdentity(),
  end: null,
};

/** A disk with the directory of the run, synced, and nothing in it. */
export async function diskWithRun(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await makeDirectories(disk, DIRECTORY);
  await makeDirectories(disk, LAYOUT.wake);
  return disk.afterKill();
}

/** A clock that is stepped by hand. */
export class ManualClock implements Clock {
  nowMs = 1_764_500_000_000;

  wallMs(): number {
    return this.nowMs;
  }

  wallNs(): bigint {
    return BigInt(this.nowMs) * 1_000_000n;
  }

  monotonicMs(): number {
    return this.nowMs;
  }
}

/** A segment file as it lies on disk. */
export interface FoundSegment {
  readonly name: string;
  readonly state: 'open' | 'sealed';
  readonly first: number;
  /** From the name; of an open one, from its frames. */
  readonly last: number;
  readonly frames: readonly PlacedFrame[];
  readonly end: ScanEnd;
  readonly bytes: Buffer;
}

/** The segments of a stream, by first sequence. */
export function segmentsOf(disk: SimulatedDisk, stream: StreamName): FoundSegment[] {
  const names = disk
    .files()
    .filter((path) => path.startsWith(`${DIRECTORY}/`))
    .map((path) => path.slice(DIRECTORY.length + 1));
  const { sealed, open } = arrange(names);
  const found = [
    ...(sealed.get(stream) ?? []).map((one) => ({ ...one, state: 'sealed' as const })),
    ...(open.get(stream) ?? []).map((one) => ({ ...one, state: 'open' as const, last: 0 })),
  ];
  return found
    .sort((a, b) => a.first - b.first)
    .map(({ name, state, first, last }) => {
      const bytes = disk.bytesOf(join(DIRECTORY, name));
      const { frames, end } = scanFrames(bytes);
      const newest = frames.at(-1);
      const lastFound = newest === undefined ? first - 1 : newest.seq + newest.n - 1;
      return { name, state, first, last: state === 'open' ? lastFound : last, frames, end, bytes };
    });
}

/** What the stream's frames hold, concatenated. */
export function bytesIn(segments: readonly FoundSegment[]): Buffer {
  return Buffer.concat(
    segments.flatMap(({ frames, bytes }) =>
      frames.map(({ bodyStart, end }) => bytes.subarray(bodyStart, end)),
    ),
  );
}

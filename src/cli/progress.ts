import { Presets, SingleBar } from 'cli-progress';
import { humanBytes } from '../core/units.js';

/** How far a long work is, shown to a person on a terminal. */
export interface Progress {
  /** The total may grow while runs go on. */
  update(done: ProgressFigures): void;
  /** Leaves the terminal as it was found. Idempotent. */
  stop(): void;
}

export interface ProgressFigures {
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly pendingEntries: number;
}

const FORMAT =
  'delivering [{bar}] {percentage}% | {doneText} of {totalText} | entries left: {pendingEntries}';

/** @param stream a terminal: elsewhere a bar would be noise, and is not drawn */
export function startProgress(stream: NodeJS.WriteStream, figures: ProgressFigures): Progress {
  const bar = new SingleBar(
    { stream, format: FORMAT, barsize: 24, hideCursor: true, clearOnComplete: true, fps: 10 },
    Presets.shades_classic,
  );
  bar.start(figures.totalBytes, figures.doneBytes, payloadOf(figures));
  return {
    update: (done) => {
      bar.setTotal(done.totalBytes);
      bar.update(done.doneBytes, payloadOf(done));
    },
    stop: () => {
      bar.stop();
    },
  };
}

function payloadOf({ doneBytes, totalBytes, pendingEntries }: ProgressFigures): object {
  return {
    doneText: humanBytes(doneBytes),
    totalText: humanBytes(totalBytes),
    pendingEntries,
  };
}

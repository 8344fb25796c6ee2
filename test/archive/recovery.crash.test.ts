/**
 * Crashes of an archive, one by one: its process is killed after every operation and within every
 * append, the power is cut at the same moments, and once more after the restart has answered. What
 * was acknowledged must be there, what is told must stay, and the stream must come to its end.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { silentLogger, type Logger } from '../../src/telemetry/log.js';
import { gapOf, frameOf } from '../support/frames.js';
import { visitCrashesWithinAppends, type CrashScript } from '../support/crash-enumeration.js';
import { NativePeer, RUN } from '../support/native.js';
import { SimulatedDisk } from '../support/simulated-disk.js';
import { visitOutcomes } from '../support/simulated-outcomes.js';

// Thousands of crashes: a limit for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 120_000 });

const DIR = '/archive';
const LONG = `${'long '.repeat(150)}\n`;

/** What a sender sends: first and last sequence, frames, and what the log holds after it. */
const RANGES: readonly [number, number, Buffer, string][] = [
  [1, 2, frameOf(1, 'a\nb\n'), 'a\nb\n'],
  [3, 4, Buffer.concat([gapOf(3, 7, 70), frameOf(4, LONG)]), `a\nb\n${LONG}`],
  [4, 5, frameOf(4, `${LONG}c\n`), `a\nb\n${LONG}c\n`],
];
const WHOLE = RANGES.at(-1)?.[3] ?? '';
const TOTALS = {
  stdout: {
    last: 5,
    bytes: WHOLE.length,
    sha256: createHash('sha256').update(WHOLE).digest('hex'),
  },
};

/** No crash is a damaged disk: nothing of that kind may be said. */
const noAlarm: Logger = {
  ...silentLogger,
  error: (_, message) => expect.unreachable(message),
};

/** What a sender was told. */
interface Told {
  mark: number;
  epoch: number;
  finished: boolean;
}

interface State {
  readonly epoch?: number;
  readonly finished?: boolean;
  readonly marks?: { readonly stdout?: number };
}

/** Sends everything from the mark on, and gives up at the first answer that is none. */
async function send(disk: SimulatedDisk, epoch: number): Promise<Told> {
  return sendTo(new NativePeer(disk, DIR, noAlarm), epoch);
}

async function sendTo(peer: NativePeer, epoch: number): Promise<Told> {
  const told = await stateOf(peer);
  if ((await peer.put()).status !== 200) return told;
  for (const [first, last, body] of RANGES) {
    const answer = await peer.append(first, last, body, { 'shipper-epoch': String(epoch) });
    if (answer.status !== 200) return told;
    Object.assign(told, { mark: Number(answer.headers['shipper-accepted']), epoch });
  }
  const answer = await peer.finish(TOTALS, { 'shipper-epoch': String(epoch) });
  return { ...told, finished: answer.status === 200 };
}

async function stateOf(peer: NativePeer): Promise<Told> {
  const {
    marks,
    epoch = 0,
    finished = false,
  } = JSON.parse((await peer.handle({})).body.toString()) as State;
  return { mark: marks?.stdout ?? 0, epoch, finished };
}

/** The script, and what its sender was told before it was killed. */
function sending(): { script: CrashScript; told: () => Told } {
  let told: Told = { mark: 0, epoch: 0, finished: false };
  const run = async (disk: SimulatedDisk): Promise<void> => {
    told = { mark: 0, epoch: 0, finished: false };
    told = await send(disk, 1);
  };
  return {
    script: { newDisk: () => Promise.resolve(new SimulatedDisk()), run },
    told: () => told,
  };
}

async function expectAtLeast(disk: SimulatedDisk, told: Told, point: string): Promise<Told> {
  const found = await stateOf(new NativePeer(disk, DIR, noAlarm));
  expect(found.mark, point).toBeGreaterThanOrEqual(told.mark);
  expect(found.epoch, point).toBeGreaterThanOrEqual(told.epoch);
  expect(Number(found.finished), point).toBeGreaterThanOrEqual(Number(told.finished));
  return found;
}

async function expectToFinish(disk: SimulatedDisk, point: string): Promise<void> {
  expect(await send(disk, 2), point).toEqual({ mark: 5, epoch: 2, finished: true });
  expect(disk.bytesOf(join(DIR, RUN, 'stdout.log')).toString(), point).toBe(WHOLE);
  expect(disk.openFiles, point).toBeLessThanOrEqual(2);
}

describe('an archive whose process is killed, after any operation', () => {
  it('has what was acknowledged, and comes to its end', async () => {
    const { script, told } = sending();
    const visited = await visitCrashesWithinAppends(script, async ({ disk, point }) => {
      const acknowledged = told();
      await expectAtLeast(disk.afterKill(), acknowledged, point);
      await expectToFinish(disk.afterKill(), point);
    });
    expect(visited).toBeGreaterThan(100);
  });

  it('tells nothing that a power cut could take back', async () => {
    const { script } = sending();
    await visitCrashesWithinAppends(script, async ({ disk, point }) => {
      const restarted = disk.afterKill();
      const told = await stateOf(new NativePeer(restarted, DIR));
      await visitOutcomes(20, 1, async (decide) => {
        await expectAtLeast(restarted.afterPowerCut(decide), told, point);
      });
    });
  });
});

describe('an archive that was restarted after a kill at any operation', () => {
  it('keeps what it takes from then on', async () => {
    const { script } = sending();
    await visitCrashesWithinAppends(script, async ({ disk, point }) => {
      const restarted = disk.afterKill();
      const told = await send(restarted, 2);
      expect(told.finished, point).toBe(true);
      await visitOutcomes(20, 1, async (decide) => {
        await expectAtLeast(restarted.afterPowerCut(decide), told, point);
      });
    });
  });
});

describe('an archive whose power is cut, after any operation', () => {
  it('has what was acknowledged, and comes to its end', async () => {
    const { script, told } = sending();
    await visitCrashesWithinAppends(script, async ({ disk, point }) => {
      const acknowledged = told();
      await visitOutcomes(20, 1, async (decide) => {
        const found = disk.afterPowerCut(decide);
        await expectAtLeast(found.afterKill(), acknowledged, point);
        await expectToFinish(found, point);
      });
    });
  });
});

describe('a recovery that is killed, after any operation', () => {
  it('leaves what the next one needs', async () => {
    const torn = new SimulatedDisk();
    // Within the second index line: both files hold more than is acknowledged.
    torn.faultOf = ({ kind, path, bytes }) =>
      kind === 'appendAsync' && path.endsWith('.jsonl') && bytes > 150
        ? { code: 'EIO', writtenBytes: 20 }
        : undefined;
    expect(await send(torn, 1)).toMatchObject({ mark: 2 });
    const newDisk = (): Promise<SimulatedDisk> => Promise.resolve(torn.afterKill());
    const run = async (disk: SimulatedDisk): Promise<void> => {
      await stateOf(new NativePeer(disk, DIR, noAlarm));
    };
    await visitCrashesWithinAppends({ newDisk, run }, async ({ disk, point }) => {
      await expectAtLeast(disk.afterKill(), { mark: 2, epoch: 1, finished: false }, point);
      await expectToFinish(disk.afterKill(), point);
      await visitOutcomes(20, 1, (decide) => expectToFinish(disk.afterPowerCut(decide), point));
    });
  });
});

describe('a disk that fails, at any operation', () => {
  /** A disk with one fault for each operation of the script. */
  async function* faultyDisks(code: string): AsyncGenerator<[SimulatedDisk, string]> {
    const { script } = sending();
    const whole = await script.newDisk();
    await script.run(whole);
    for (const { number, kind } of whole.trace) {
      const disk = new SimulatedDisk();
      disk.faultOf = (operation) =>
        operation.number === number ? { code, writtenBytes: operation.bytes >> 1 } : undefined;
      yield [disk, `${kind} ${String(number)}`];
    }
  }

  it.each(['EIO', 'ENOSPC'])('with %s costs nothing that was acknowledged', async (code) => {
    for await (const [disk, point] of faultyDisks(code)) {
      const told = await send(disk, 1).catch(() => ({ mark: 0, epoch: 0, finished: false }));
      await expectAtLeast(disk.afterKill(), told, point);
      await visitOutcomes(20, 1, async (decide) => {
        await expectAtLeast(disk.afterPowerCut(decide), told, point);
      });
      await expectToFinish(disk.afterKill(), point);
    }
  });

  it('and then works again goes on, and keeps all of it', async () => {
    for await (const [disk, point] of faultyDisks('EIO')) {
      const peer = new NativePeer(disk, DIR, noAlarm);
      await sendTo(peer, 1).catch(() => undefined);
      const told = await sendTo(peer, 1);
      expect(told, point).toEqual({ mark: 5, epoch: 1, finished: true });
      await visitOutcomes(20, 1, async (decide) => {
        await expectAtLeast(disk.afterPowerCut(decide), told, point);
      });
    }
  });

  it('and whose process is killed then leaves an archive that is in order', async () => {
    const newDisk = (): Promise<SimulatedDisk> => {
      const disk = new SimulatedDisk();
      let syncs = 0;
      // Of an index: at its opening, for the first append, and for the second, which fails.
      disk.faultOf = ({ kind, path }) => {
        if (kind !== 'datasync' || !path.endsWith('.jsonl')) return undefined;
        syncs += 1;
        return syncs === 3 ? { code: 'EIO' } : undefined;
      };
      return Promise.resolve(disk);
    };
    const run = async (disk: SimulatedDisk): Promise<void> => {
      const peer = new NativePeer(disk, DIR, noAlarm);
      expect(await sendTo(peer, 1)).toMatchObject({ finished: false });
      await stateOf(peer);
    };
    await visitCrashesWithinAppends({ newDisk, run }, async ({ disk, point }) => {
      await expectToFinish(disk.afterKill(), point);
    });
  });
});

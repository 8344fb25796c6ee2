import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { writerLockPath, spoolLayout } from '../../src/spool/layout.js';
import { acquireLock } from '../../src/spool/lock.js';
import { ownIdentity } from '../../src/spool/process-identity.js';
import { recoverRun, type RecoveryOutcome } from '../../src/spool/recovery.js';
import { readRunRecord } from '../../src/spool/run-record.js';
import { silentLogger, type LogFields } from '../../src/telemetry/log.js';
import { frameOf, gapOf } from '../support/frames.js';
import { PreparedRun, type PreparedSettings } from '../support/prepared-spool.js';
import { segments, spooledBytes } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A run of a dead writer, unless the settings say otherwise, and what recovery says about it. */
class Bench {
  readonly spool: string = temporaryDirectory();
  readonly run: PreparedRun;
  readonly warnings: [LogFields, string][] = [];

  constructor(settings: PreparedSettings = {}) {
    this.run = new PreparedRun(this.spool, settings);
  }

  recover(): Promise<RecoveryOutcome> {
    const warn = (fields: LogFields, message: string): void => {
      this.warnings.push([fields, message]);
    };
    const parts = {
      fs: nodeFileSystem,
      layout: spoolLayout(this.spool),
      log: { ...silentLogger, warn },
    };
    return recoverRun(parts, this.run.id);
  }

  sealed(): string[] {
    return segments(this.spool, this.run.id, 'sealed');
  }

  open(): string[] {
    return segments(this.spool, this.run.id, 'open');
  }

  text(stream = 'stdout'): string {
    return spooledBytes(this.spool, this.run.id, stream).toString();
  }

  /** Every file of the run with its bytes; locks come and go. */
  snapshot(): Record<string, string> {
    const files = readdirSync(this.run.directory, { withFileTypes: true });
    return Object.fromEntries(
      files
        .filter((file) => file.isFile())
        .map(({ name }) => [name, readFileSync(join(this.run.directory, name), 'latin1')])
        .sort(),
    );
  }
}

/** Holds the writer's lock of a run until the test ends. */
async function holdLock(bench: Bench): Promise<void> {
  const attempt = await acquireLock(writerLockPath(bench.run.directory), () => undefined);
  if (attempt.kind === 'held') throw new Error('the lock is held');
  onTestFinished(() => attempt.lock.release());
}

describe('recovery', () => {
  it('seals what a killed writer has left, and records that nobody saw the end', async () => {
    const bench = new Bench();
    bench.run.sealed('stdout', ['a\n', 'b\n']);
    bench.run.open('stdout', ['c\n']);
    bench.run.open('stderr', ['x\n', 'y\n']);
    await bench.run.record();
    const outcome = await bench.recover();
    expect(outcome).toMatchObject({
      kind: 'recovered',
      record: {
        id: bench.run.id,
        end: {
          streams: {
            stdout: { last: 3, bytes: null, sha256: null },
            stderr: { last: 2, bytes: null, sha256: null },
          },
          exit: { unknown: true },
          endedAt: null,
        },
      },
    });
    expect(bench.open()).toEqual([]);
    expect(bench.sealed()).toEqual([
      'stderr-000000000001-000000000002.seg',
      'stdout-000000000001-000000000002.seg',
      'stdout-000000000003-000000000003.seg',
    ]);
    expect(bench.text()).toBe('a\nb\nc\n');
    const { record } = await readRunRecord(nodeFileSystem, bench.run.directory, bench.run.id);
    expect(outcome).toEqual({ kind: 'recovered', record });
    expect(bench.warnings).toEqual([]);
  });

  it('keeps intact frames before a torn tail, wherever it is torn', async () => {
    const next = frameOf(3, 'c\n');
    for (const length of [1, 50, next.length - 3, next.length - 1]) {
      const bench = new Bench();
      const tail = next.subarray(0, length).toString('latin1');
      bench.run.open('stdout', ['a\n', 'b\n'], tail);
      await bench.run.record();
      await bench.recover();
      expect(bench.sealed()).toEqual(['stdout-000000000001-000000000002.seg']);
      expect(bench.text()).toBe('a\nb\n');
      expect(Object.values(bench.snapshot()).some((text) => text.endsWith(tail))).toBe(false);
    }
  });

  it('keeps intact frames before zeros or a damaged frame, left by a power cut', async () => {
    const damaged = frameOf(3, 'c\n').toString().replace('c\n', 'C\n');
    for (const tail of ['\0'.repeat(4096), damaged]) {
      const bench = new Bench();
      bench.run.open('stdout', ['a\n', 'b\n'], tail);
      await bench.run.record();
      await bench.recover();
      expect(bench.text()).toBe('a\nb\n');
      expect(bench.sealed()).toEqual(['stdout-000000000001-000000000002.seg']);
    }
  });

  it.each([
    ['empty', ''],
    ['nothing but zeros', '\0'.repeat(1000)],
    ['the beginning of a header', '{"v":1,"se'],
    ['a header without its body', frameOf(1, 'a\n').toString().slice(0, -2)],
  ])('removes an open segment that is %s', async (_, content) => {
    const bench = new Bench();
    bench.run.open('stdout', [], content);
    await bench.run.record();
    expect(await bench.recover()).toMatchObject({ record: { end: { streams: {} } } });
    expect(bench.open()).toEqual([]);
    expect(bench.sealed()).toEqual([]);
  });

  it('seals several open segments of a stream', async () => {
    const bench = new Bench();
    bench.run.open('stdout', ['a\n']);
    bench.run.open('stdout', ['b\n', 'c\n']);
    bench.run.open('stdout', ['d\n'], '{"v":1');
    await bench.run.record();
    await bench.recover();
    expect(bench.sealed()).toEqual([
      'stdout-000000000001-000000000001.seg',
      'stdout-000000000002-000000000003.seg',
      'stdout-000000000004-000000000004.seg',
    ]);
    expect(bench.text()).toBe('a\nb\nc\nd\n');
  });

  it('keeps a gap entry as it is', async () => {
    const bench = new Bench();
    const path = bench.run.open('stdout', []);
    rmSync(path);
    bench.run.file('stdout-000000000001.open', Buffer.concat([gapOf(1, 7, 70), frameOf(2, 'a\n')]));
    await bench.run.record();
    await bench.recover();
    expect(bench.sealed()).toEqual(['stdout-000000000001-000000000002.seg']);
    expect(bench.text()).toBe('a\n');
  });

  it('tells how far a stream reaches from the marks where its segments are gone', async () => {
    const bench = new Bench();
    bench.run.sealed('stdout', ['a\n']);
    await bench.run.record();
    await bench.run.marks({
      'dir:/a': { marks: { stdout: 1, stderr: 17 } },
      'dir:/b': { marks: { stderr: 12 } },
    });
    expect(await bench.recover()).toMatchObject({
      record: { end: { streams: { stdout: { last: 1 }, stderr: { last: 17 } } } },
    });
  });

  it('changes nothing the second time', async () => {
    const bench = new Bench();
    bench.run.open('stdout', ['a\n'], 'torn');
    await bench.run.record();
    const first = await bench.recover();
    const after = bench.snapshot();
    expect(await bench.recover()).toEqual(first);
    expect(bench.snapshot()).toEqual(after);
  });

  it('needs nothing but to look at a run that has ended', async () => {
    const bench = new Bench({ exit: { code: 0 } });
    bench.run.sealed('stdout', ['a\n']);
    const record = await bench.run.record();
    await holdLock(bench);
    expect(await bench.recover()).toEqual({ kind: 'recovered', record });
  });

  it('seals what a failed seal has left of a run that has ended, and keeps its end', async () => {
    const bench = new Bench({ exit: { code: 3 } });
    bench.run.open('stdout', ['a\n']);
    const record = await bench.run.record();
    expect(await bench.recover()).toEqual({ kind: 'recovered', record });
    expect(bench.sealed()).toEqual(['stdout-000000000001-000000000001.seg']);
  });
});

describe('recovery leaves alone', () => {
  it('the open segments of a writer that lives', async () => {
    const bench = new Bench({ writer: ownIdentity() });
    bench.run.open('stdout', ['a\n'], 'half a fra');
    await bench.run.record();
    const before = bench.snapshot();
    expect(await bench.recover()).toEqual({ kind: 'live' });
    expect(bench.snapshot()).toEqual(before);
  });

  it('a run whose record is damaged, while its writer holds the lock', async () => {
    const bench = new Bench();
    bench.run.open('stdout', ['a\n']);
    bench.run.file('run.json', '{"v":');
    await holdLock(bench);
    const before = bench.snapshot();
    expect(await bench.recover()).toEqual({ kind: 'live' });
    expect(bench.snapshot()).toEqual(before);
  });

  it('a run that another process is recovering', async () => {
    const bench = new Bench();
    bench.run.open('stdout', ['a\n']);
    await bench.run.record();
    await holdLock(bench);
    expect(await bench.recover()).toEqual({ kind: 'busy' });
    expect(bench.open()).toHaveLength(1);
  });

  it('to a second recovery at the same moment what the first one does', async () => {
    const bench = new Bench();
    for (let segment = 0; segment < 5; segment += 1) bench.run.open('stdout', ['a\n']);
    await bench.run.record();
    const outcomes = await Promise.all([bench.recover(), bench.recover()]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['busy', 'recovered']);
    expect(bench.sealed()).toHaveLength(5);
    expect(await bench.recover()).toMatchObject({ kind: 'recovered' });
  });

  it('a segment of a newer format, and says so', async () => {
    const bench = new Bench();
    bench.run.open('stdout', [], '{"v":2,"new":true}\nwhatever');
    bench.run.open('stderr', ['x\n']);
    await bench.run.record();
    await bench.recover();
    expect(bench.open()).toEqual(['stdout-000000000001.open']);
    expect(bench.sealed()).toEqual(['stderr-000000000001-000000000001.seg']);
    expect(bench.warnings).toMatchObject([
      [{ at: 0 }, 'left alone: format version 2 is newer than this reader'],
    ]);
  });

  it('a segment whose name lies about its frames, and removes none of them', async () => {
    const bench = new Bench();
    bench.run.file('stdout-000000000005.open', frameOf(1, 'a\n'));
    await bench.run.record();
    const before = bench.snapshot();
    await bench.recover();
    expect(bench.snapshot()).toMatchObject({
      'stdout-000000000005.open': before['stdout-000000000005.open'],
    });
    expect(bench.warnings).toMatchObject([[{ at: 0 }, 'left alone: sequence 1 where 5 is due']]);
  });

  it('a damaged record: somebody may still read something from it', async () => {
    const bench = new Bench();
    bench.run.open('stdout', ['a\n']);
    bench.run.file('run.json', '{"v":1,"name":"nightly"');
    expect(await bench.recover()).toMatchObject({ record: { end: { exit: { unknown: true } } } });
    expect(bench.snapshot()).toMatchObject({ 'run.json': '{"v":1,"name":"nightly"' });
    expect(bench.sealed()).toHaveLength(1);
  });
});

describe('recovery says', () => {
  it('that a run is gone', async () => {
    const bench = new Bench();
    rmSync(bench.run.directory, { recursive: true });
    await expect(bench.recover()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

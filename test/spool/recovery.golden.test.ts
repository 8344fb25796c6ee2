/**
 * The golden spool: what version 1 has written once, every version reads. See its README.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { nodeFileSystem as fs } from '../../src/disk/node-file-system.js';
import { runDirectory, spoolLayout, type SpoolLayout } from '../../src/spool/layout.js';
import { listRun, listRuns } from '../../src/spool/listing.js';
import { readMarks } from '../../src/spool/marks.js';
import { recoverRun } from '../../src/spool/recovery.js';
import { readRunRecord } from '../../src/spool/run-record.js';
import { scanSegment } from '../../src/spool/scan-segment.js';
import { silentLogger } from '../../src/telemetry/log.js';
import { segments, spooledBytes } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const GOLDEN = fileURLToPath(new URL('../../fixtures/spool-v1', import.meta.url));
const RUN_ID = '01KBD4ZQ00SP00GD1G01DEN000';

let layout: SpoolLayout;
let directory: string;

beforeEach(() => {
  const root = join(temporaryDirectory(), 'spool');
  for (const folder of ['runs', 'wake']) {
    cpSync(join(GOLDEN, folder), join(root, folder), { recursive: true });
  }
  layout = spoolLayout(root);
  directory = runDirectory(layout, RUN_ID);
});

describe('the golden spool', () => {
  it('holds one run, with its record and its marks', async () => {
    expect(await listRuns(fs, layout)).toEqual([RUN_ID]);
    expect(await readRunRecord(fs, directory, RUN_ID)).toEqual({
      kind: 'record',
      record: {
        v: 1,
        id: RUN_ID,
        name: 'golden',
        command: ['printf', '%s', 'golden spool'],
        labels: { purpose: 'every version reads this' },
        host: 'golden',
        pid: 4242,
        startedAt: '2025-12-01T00:00:00.000Z',
        shipperVersion: '0.1.0',
        destinations: ['dir:/var/log/golden'],
        writer: {
          host: 'golden',
          pid: 4242,
          startTicks: '123456',
          bootId: '00000000-0000-4000-8000-000000000000',
          pidNamespace: 'pid:[4026531836]',
        },
        end: null,
      },
    });
    expect(await readMarks(fs, directory)).toEqual({
      sinks: {
        'dir:/var/log/golden': {
          marks: { stdout: 2, stderr: 1 },
          epoch: 1,
          finished: false,
          lastAckAt: '2025-12-01T00:00:01.000Z',
          lastError: null,
        },
      },
    });
  });

  it('has sealed segments that hold what their names say', async () => {
    const { sealed, open, foreign } = await listRun(fs, directory);
    const found = [...sealed.values()].flat();
    expect(found).toHaveLength(6);
    for (const { name, first, last } of found) {
      const content = await scanSegment(fs, join(directory, name), first);
      expect(content).toMatchObject({ last, end: { kind: 'complete' } });
      expect(content.gaps).toBe(first === 5 ? 1 : 0);
    }
    expect([...open.values()].flat().map(({ name }) => name)).toEqual(['stdout-000000000011.open']);
    expect(foreign).toEqual([]);
  });

  it('gives every byte of both streams, after recovery too', async () => {
    const stdout =
      'first line\nsecond line, longer\nthird line\nalone in its segment\n' +
      'nul \0, invalid \xff\xfe\xc3, no more\n\n' +
      'a long line that is cut and goes on in the next segment to its end\n' +
      'kept by recovery\n';
    const stderr =
      'warning: \u001b[33myellow\u001b[0m\r\n' +
      Buffer.from('𝄞 split: 𝄞\nunterminated').toString('latin1');
    const expectBytes = (): void => {
      expect(spooledBytes(layout.root, RUN_ID, 'stdout').toString('latin1')).toBe(stdout);
      expect(spooledBytes(layout.root, RUN_ID, 'stderr').toString('latin1')).toBe(stderr);
    };
    expectBytes();
    const outcome = await recoverRun({ fs, layout, log: silentLogger }, RUN_ID);
    // Its writer was on another host: nobody here can say that it is dead, but nobody holds its
    // lock.
    expect(outcome).toMatchObject({
      kind: 'recovered',
      record: { end: { streams: { stdout: { last: 11 }, stderr: { last: 4 } } } },
    });
    expectBytes();
    expect(segments(layout.root, RUN_ID, 'open')).toEqual([]);
    expect(segments(layout.root, RUN_ID, 'sealed')).toContain(
      'stdout-000000000011-000000000011.seg',
    );
  });
});

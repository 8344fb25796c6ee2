import { describe, expect, it } from 'vitest';
import { newRunId } from '../../src/core/run-id.js';
import { makeDirectories } from '../../src/disk/durable.js';
import { arrange, listRun, listRuns } from '../../src/spool/listing.js';
import { SimulatedDisk } from '../support/simulated-disk.js';
import { DIRECTORY, LAYOUT, diskWithRun } from '../support/simulated-run.js';

describe('arrange', () => {
  it('sorts the segments of each stream by first sequence, and by state', () => {
    const { sealed, open, foreign } = arrange([
      'stdout-000000000100-000000000199.seg',
      'stdout-000000000200.open',
      'stderr-000000000001-000000000001.seg',
      'stdout-000000000001-000000000099.seg',
      'stdout-000000000150.open',
    ]);
    const firstsOf = (map: typeof open): unknown =>
      [...map].map(([stream, segments]) => [stream, segments.map(({ first }) => first)]);
    expect(firstsOf(sealed)).toEqual([
      ['stdout', [1, 100]],
      ['stderr', [1]],
    ]);
    expect(firstsOf(open)).toEqual([['stdout', [150, 200]]]);
    expect(foreign).toEqual([]);
  });

  it('sorts by number where numbers outgrow their digits', () => {
    const names = ['stdout-1000000000000.open', 'stdout-999999999999.open'];
    expect(
      arrange(names)
        .open.get('stdout')
        ?.map(({ first }) => first),
    ).toEqual([999_999_999_999, 1_000_000_000_000]);
  });

  it('knows its own small files and locks, and calls everything else foreign', () => {
    const own = [
      'run.json',
      'run.json.tmp',
      'marks.json',
      'marks.json.tmp',
      'writer.lock',
      'uploader.lock',
      'uploader.lock.owner-0123456789abcdef.json.tmp',
    ];
    const foreign = ['notes.txt', 'run.json~', 'xrun.json', 'stdout-1-2.seg', 'reader.lock', ''];
    expect(arrange([...own, ...foreign]).foreign).toEqual(foreign);
  });
});

describe('listRun', () => {
  it('reads the directory once and opens nothing', async () => {
    const disk = await diskWithRun();
    await disk.create(`${DIRECTORY}/stdout-000000000001-000000000005.seg`).close();
    const next = disk.afterKill();
    const { sealed } = await listRun(next, DIRECTORY);
    expect(sealed.get('stdout')).toEqual([
      {
        name: 'stdout-000000000001-000000000005.seg',
        state: 'sealed',
        stream: 'stdout',
        first: 1,
        last: 5,
      },
    ]);
    expect(next.lines).toEqual([`list ${DIRECTORY}`]);
  });

  it('finds nothing in a run that is gone', async () => {
    const { sealed, open, foreign } = await listRun(new SimulatedDisk(), DIRECTORY);
    expect([sealed.size, open.size, foreign.length]).toEqual([0, 0, 0]);
  });
});

describe('listRuns', () => {
  it('lists runs, oldest first, and nothing else', async () => {
    const disk = new SimulatedDisk();
    const ids = [1, 2, 3].map((ms) => newRunId(ms));
    for (const id of [...ids].reverse()) await makeDirectories(disk, `${LAYOUT.runs}/${id}`);
    for (const name of [`${newRunId(4)}.tmp`, 'lost+found', 'x']) {
      await disk.makeDirectory(`${LAYOUT.runs}/${name}`);
    }
    expect(await listRuns(disk, LAYOUT)).toEqual(ids);
  });

  it('lists none where there is no spool', async () => {
    expect(await listRuns(new SimulatedDisk(), LAYOUT)).toEqual([]);
  });
});

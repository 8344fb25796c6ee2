import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  bellPath,
  defaultSpoolRoot,
  marksPath,
  runDirectory,
  runRecordPath,
  spoolLayout,
  uploaderLockPath,
  writerLockPath,
} from '../../src/spool/layout.js';

describe('the layout of a spool', () => {
  it('is as the format says', () => {
    const layout = spoolLayout('/spool');
    const directory = runDirectory(layout, 'ID');
    expect(directory).toBe('/spool/runs/ID');
    expect(bellPath(layout, 'ID')).toBe('/spool/wake/ID');
    expect(runRecordPath(directory)).toBe('/spool/runs/ID/run.json');
    expect(marksPath(directory)).toBe('/spool/runs/ID/marks.json');
    expect(writerLockPath(directory)).toBe('/spool/runs/ID/writer.lock');
    expect(uploaderLockPath(directory)).toBe('/spool/runs/ID/uploader.lock');
  });
});

describe('the default spool', () => {
  it('lies in the state directory', () => {
    expect(defaultSpoolRoot({ XDG_STATE_HOME: '/state' })).toBe('/state/shipper/spool');
  });

  it.each([undefined, '', 'relative/path'])(
    'lies in the home directory when XDG_STATE_HOME is %j',
    (value) => {
      const home = join(homedir(), '.local/state/shipper/spool');
      expect(defaultSpoolRoot({ XDG_STATE_HOME: value })).toBe(home);
    },
  );
});

import { describe, expect, it } from 'vitest';
import { newRunRecord } from '../../../src/cli/run/run-record.js';
import { isRunId } from '../../../src/core/run-id.js';
import { DEFAULTS } from '../../../src/core/options.js';
import { livenessOf } from '../../../src/spool/process-identity.js';

describe('newRunRecord', () => {
  it('is named after the command, and written by this very process', () => {
    const record = newRunRecord(DEFAULTS, ['/usr/bin/env', 'x'], ['dir:/archive'], 1000);
    expect(record).toMatchObject({
      name: 'env',
      command: ['/usr/bin/env', 'x'],
      destinations: ['dir:/archive'],
      startedAt: '1970-01-01T00:00:01.000Z',
      pid: process.pid,
      end: null,
    });
    expect(isRunId(record.id)).toBe(true);
    expect(record.writer && livenessOf(record.writer)).toBe('alive');
  });

  it('takes name and labels from the options; a value may hold =', () => {
    const options = { ...DEFAULTS, name: 'job', label: ['a=b', 'c=d=e', 'empty='] };
    expect(newRunRecord(options, ['x'], [], 0)).toMatchObject({
      name: 'job',
      labels: { a: 'b', c: 'd=e', empty: '' },
    });
  });

  it.each(['nothing', '=value'])('refuses the label %s with an example', (label) => {
    const options = { ...DEFAULTS, label: [label] };
    expect(() => newRunRecord(options, ['x'], [], 0)).toThrow(
      expect.objectContaining({ code: 'usage', hint: 'for example --label team=storage' }),
    );
  });
});

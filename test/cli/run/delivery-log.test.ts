import { describe, expect, it } from 'vitest';
import { DeliveryLog } from '../../../src/cli/run/delivery-log.js';
import { DEFAULTS } from '../../../src/core/options.js';

const WARNING = { kind: 'log', level: 'warn', fields: { run: 'x' }, message: 'careful' } as const;

describe('DeliveryLog', () => {
  it('prints what the level lets through, as lines that people read', async () => {
    const lines: string[] = [];
    const log = new DeliveryLog(DEFAULTS, (line) => lines.push(line));
    log.write({ ...WARNING, level: 'info', message: 'chatter' });
    log.write(WARNING);
    await expect.poll(() => lines).toEqual(['shipper: careful (run=x)\n']);
  });

  it('prints JSON where it is asked for', async () => {
    const lines: string[] = [];
    const log = new DeliveryLog({ ...DEFAULTS, logFormat: 'json' }, (line) => lines.push(line));
    log.write(WARNING);
    await expect.poll(() => lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', run: 'x', msg: 'careful' });
  });
});

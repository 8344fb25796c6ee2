import { expect, it } from 'vitest';
import { deliverySettings } from '../../src/cli/delivery-settings.js';
import { userAgent } from '../../src/cli/version.js';
import { DEFAULTS } from '../../src/core/options.js';

it('an uploader gets its scope, the options of delivery, and the token of the environment', () => {
  const scope = { spoolRoot: '/spool', runId: undefined, to: ['dir:/a'] };
  const options = { ...DEFAULTS, tokenFile: '/token', maxInFlight: 7 };
  expect(deliverySettings(scope, options, { SHIPPER_TOKEN: 'x' })).toEqual({
    ...scope,
    tokenFile: '/token',
    token: 'x',
    userAgent: userAgent(),
    cycleDeadlineMs: DEFAULTS.cycleDeadline,
    maxInFlight: 7,
    batchMaxBytes: DEFAULTS.batchMaxBytes,
  });
});

import { hostname } from 'node:os';
import { basename } from 'node:path';
import { ShipperError } from '../../core/errors.js';
import type { Options } from '../../core/options.js';
import { newRunId } from '../../core/run-id.js';
import { ownIdentity } from '../../spool/process-identity.js';
import type { RunRecord } from '../../spool/run-record.js';
import { shipperVersion } from '../version.js';

/**
 * The record of a run that is about to start.
 *
 * @param destinations URLs without credentials
 * @throws ShipperError `usage` for a label that is not `key=value`
 */
export function newRunRecord(
  options: Options,
  command: readonly string[],
  destinations: readonly string[],
  wallMs: number,
): RunRecord {
  return {
    v: 1,
    id: newRunId(wallMs),
    name: options.name ?? basename(command[0] ?? ''),
    command,
    labels: Object.fromEntries(options.label.map(parseLabel)),
    host: hostname(),
    pid: process.pid,
    startedAt: new Date(wallMs).toISOString(),
    shipperVersion: shipperVersion(),
    destinations,
    writer: ownIdentity(),
    end: null,
  };
}

function parseLabel(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) {
    throw new ShipperError('usage', `option --label: "${text}" is not key=value`, {
      hint: 'for example --label team=storage',
    });
  }
  return [text.slice(0, at), text.slice(at + 1)];
}

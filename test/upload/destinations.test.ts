import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { shipperSink } from '../../src/sinks/shipper.js';
import { Destinations } from '../../src/upload/destinations.js';
import { TokenSource } from '../../src/upload/token.js';
import { METADATA } from '../support/batches.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const quiet = (): void => undefined;

function destinations(): Destinations {
  return new Destinations({
    fs: nodeFileSystem,
    clock: systemClock,
    random: () => 0,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    tokens: new TokenSource(nodeFileSystem, undefined, undefined),
    userAgent: 'shipper/0',
    maxInFlight: 1,
  });
}

const request = shipperSink('id', { transport: 'dir', path: '/' }).runs!.open(METADATA);

describe('Destinations', () => {
  it('makes one of each, however its URL is written', () => {
    const all = destinations();
    const one = all.get('shipper+http://h/');
    expect(all.get('SHIPPER+HTTP://H')).toBe(one);
    expect(all.get('shipper+http://h/other')).not.toBe(one);
    expect(all.get('dir:/x')).not.toBe(one);
    expect(all.all().map(({ sink }) => sink.id)).toEqual([
      'shipper+http://h',
      'shipper+http://h/other',
      'dir:/x',
    ]);
  });

  it('refuses a URL that names none', () => {
    expect(() => destinations().get('ftp://h')).toThrow(
      expect.objectContaining({ code: 'config' }),
    );
  });

  it('sends by the transport that the destination needs', async () => {
    const all = destinations();
    const dir = all.get(`dir:${temporaryDirectory()}`);
    expect(await dir.send(request)).toMatchObject({ kind: 'response', status: 200 });
    await dir.close();
    // A port that nobody listens on.
    const http = all.get('shipper+http://127.0.0.1:1');
    expect(await http.send(request)).toMatchObject({ kind: 'failure', code: 'ECONNREFUSED' });
    await http.close();
  });
});

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ExchangeRequest } from '../../src/core/exchange.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { shipperSink } from '../../src/sinks/shipper.js';
import { DirTransport } from '../../src/upload/dir-transport.js';
import { archivedBytes } from '../support/archive.js';
import { batchOf, METADATA } from '../support/batches.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const sink = shipperSink('dir', { transport: 'dir', path: '/' });
const opening: ExchangeRequest = sink.runs!.open(METADATA);

function transportTo(path: string): DirTransport {
  const transport = new DirTransport({ fs: nodeFileSystem, log }, path);
  onTestFinished(() => transport.close());
  return transport;
}

describe('DirTransport', () => {
  it('creates the archive, and stores there what it carries', async () => {
    const dir = join(temporaryDirectory(), 'new', 'archive');
    const transport = transportTo(dir);
    const [opened] = await Promise.all([transport.send(opening), transport.send(opening)]);
    expect(opened).toMatchObject({ kind: 'response', status: 200 });
    expect(await transport.send(sink.encode(batchOf(1, 2)))).toMatchObject({
      status: 200,
      headers: { 'shipper-accepted': '2' },
    });
    expect(archivedBytes(dir, METADATA.id, 'stdout').toString()).toBe('line 1\nline 2\n');
  });

  it('fails while the directory cannot be made, and works once it can', async () => {
    const path = join(temporaryDirectory(), 'archive');
    writeFileSync(path, 'in the way');
    const transport = transportTo(path);
    const failures = await Promise.all([transport.send(opening), transport.send(opening)]);
    for (const failure of failures) {
      expect(failure).toMatchObject({
        kind: 'failure',
        code: 'archive-unusable',
        reason: expect.stringContaining(path) as string,
      });
    }
    rmSync(path);
    mkdirSync(path);
    expect(await transport.send(opening)).toMatchObject({ kind: 'response', status: 200 });
  });

  it('has no credentials that could be others', async () => {
    expect(await transportTo(temporaryDirectory()).renew()).toBe(false);
  });

  it('finishes what is under way when it is closed, and opens nothing again', async () => {
    const dir = temporaryDirectory();
    const transport = transportTo(dir);
    await transport.send(opening);
    const append = transport.send(sink.encode(batchOf(1, 2)));
    await transport.close();
    expect(await append).toMatchObject({ status: 200 });
    expect(await transport.send(sink.encode(batchOf(3, 4)))).toMatchObject({ kind: 'failure' });
    expect(archivedBytes(dir, METADATA.id, 'stdout').toString()).toBe('line 1\nline 2\n');
    await transport.close();
  });
});

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startReceiver } from '../support/receiver.js';
import { shipper, startShipper } from '../support/shipper.js';
import { runIds, runJson } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const ONE_LINE = /^shipper: [^\n]+; [^\n]+\n$/;

describe('shipper receive', () => {
  it('says where it listens and where the archive is, and ends with its totals', async () => {
    const dir = join(temporaryDirectory(), 'received');
    const receiver = startShipper(['receive', '--listen', '127.0.0.1:0', '--dir', dir]);
    const [, url] = await receiver.untilStderr(/receiving on (http:\/\/127\.0\.0\.1:\d+), archive/);
    expect((await fetch(url!)).status).toBe(404);
    const { code, stdout, stderr } = await receiver.stop('SIGTERM');
    expect(code).toBe(0);
    expect(stdout.length).toBe(0);
    expect(stderr.toString().split('\n')).toEqual([
      `shipper: receiving on ${url!}, archive in ${dir}`,
      'shipper: stopped after 1 request, 0 entries, 0 B',
      '',
    ]);
  });

  it('tells programs the same in lines of JSON', async () => {
    const root = temporaryDirectory();
    const receiver = await startReceiver(join(root, 'received'));
    await shipper([
      ...['run', '--spool', join(root, 'spool'), '--to', receiver.to],
      ...['--', 'sh', '-c', 'echo one; echo two; echo three >&2'],
    ]);
    const { code, stdout, stderr } = await receiver.stop('SIGINT');
    expect(code).toBe(0);
    expect(stderr.length).toBe(0);
    const lines = stdout.toString().trim().split('\n');
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events).toEqual([
      { event: 'listening', url: receiver.url, port: receiver.port, dir: receiver.dir },
      {
        event: 'stopped',
        requests: expect.any(Number) as number,
        entries: 3,
        bytes: expect.any(Number) as number,
      },
    ]);
  });

  it('archives what a command printed, byte for byte, with its digest', async () => {
    const root = temporaryDirectory();
    const receiver = await startReceiver(join(root, 'received'));
    const args = ['--spool', join(root, 'spool'), '--to', receiver.to, '--name', 'bytes'];
    await shipper(['run', ...args, '--', 'printf', 'a\\0b\\r\\n\\377no newline']);
    expect(runIds(join(root, 'spool'))).toEqual([]);
    await receiver.stop();
    const record = archivedRun(receiver.dir);
    expect(record).toMatchObject({ name: 'bytes', exit: { code: 0 } });
    const bytes = readFileSync(join(receiver.dir, record.id, 'stdout.log'));
    expect(bytes.equals(Buffer.from('a\0b\r\n\xffno newline', 'latin1'))).toBe(true);
    expect(record.streams['stdout']?.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
  });

  it('refuses a port that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const dir = temporaryDirectory();
    const listen = `127.0.0.1:${String(port)}`;
    const { code, stderr } = await shipper(['receive', '--listen', listen, '--dir', dir]);
    server.close();
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toContain(String(port));
    expect(stderr.toString()).toContain('--listen');
    expect(code).toBe(78);
  });

  it('refuses an address that does not parse', async () => {
    const { code, stderr } = await shipper(['receive', '--listen', '7790']);
    expect(stderr.toString()).toContain('option --listen: "7790" is not host:port; for example');
    expect(code).toBe(64);
  });

  it('refuses to be reached from elsewhere without a token', async () => {
    const dir = temporaryDirectory();
    const { code, stderr } = await shipper(['receive', '--listen', '0.0.0.0:0', '--dir', dir]);
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toContain('without a token');
    expect(code).toBe(78);
  });

  it('refuses a token file that is missing', async () => {
    const dir = temporaryDirectory();
    const args = ['--listen', '127.0.0.1:0', '--dir', dir, '--token-file', join(dir, 'none')];
    const { code, stderr } = await shipper(['receive', ...args]);
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toContain('cannot read the token file');
    expect(code).toBe(78);
  });

  it.each(['file', 'file/below'])('refuses an archive directory that is %s', async (name) => {
    const root = temporaryDirectory();
    writeFileSync(join(root, 'file'), 'mine');
    const args = ['--listen', '127.0.0.1:0', '--dir', join(root, name)];
    const { code, stderr } = await shipper(['receive', ...args]);
    expect(stderr.toString()).toMatch(ONE_LINE);
    expect(stderr.toString()).toContain('cannot use the archive');
    expect(code).toBe(74);
  });

  it('takes nothing from a sender without its token', async () => {
    const root = temporaryDirectory();
    const environment = { SHIPPER_TOKEN: 'open-sesame' };
    const receiver = await startReceiver(join(root, 'received'), { environment });
    const run = ['run', '--spool', join(root, 'spool'), '--to', receiver.to];
    await shipper([...run, '--drain-timeout', '0s', '--', 'echo', 'secretly']);
    expect(runIds(join(root, 'spool'))).toHaveLength(1);
    expect(readdirSync(receiver.dir)).toEqual([]);
    const drained = await shipper(['drain', '--spool', join(root, 'spool')], { environment });
    expect(drained.code).toBe(0);
    expect(runIds(join(root, 'spool'))).toEqual([]);
    expect(readdirSync(receiver.dir)).toHaveLength(1);
  });
});

interface ArchivedRun {
  readonly id: string;
  readonly streams: Readonly<Record<string, { readonly sha256: string } | undefined>>;
}

/** The only run of an archive. */
function archivedRun(dir: string): ArchivedRun {
  const [id = ''] = readdirSync(dir);
  return runJson(dir, id) as unknown as ArchivedRun;
}

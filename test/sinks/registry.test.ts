import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseSink } from '../../src/sinks/registry.js';

describe('parseSink', () => {
  it.each([
    ['dir:/archive', 'dir:/archive', { transport: 'dir', path: '/archive' }],
    ['dir:///archive/', 'dir:/archive', { transport: 'dir', path: '/archive' }],
    ['dir:sub/dir', `dir:${resolve('sub/dir')}`, { transport: 'dir', path: resolve('sub/dir') }],
    [
      'shipper+http://127.0.0.1:7790/',
      'shipper+http://127.0.0.1:7790',
      { transport: 'http', origin: 'http://127.0.0.1:7790' },
    ],
    [
      'SHIPPER+HTTPS://Logs.Example.com/prefix/',
      'shipper+https://logs.example.com/prefix',
      { transport: 'http', origin: 'https://logs.example.com' },
    ],
  ])('knows %s', (url, id, endpoint) => {
    expect(parseSink(url)).toMatchObject({ id, endpoint });
  });

  it('puts a path that is given in front of its own', () => {
    const run = { id: 'R' } as Parameters<
      NonNullable<ReturnType<typeof parseSink>['runs']>['open']
    >[0];
    expect(parseSink('shipper+http://h/a/b').runs?.open(run).path).toBe('/a/b/v1/runs/R');
  });

  it.each([
    ['ftp://host', 'the scheme is unknown'],
    ['constructor:x', 'the scheme is unknown'],
    ['no scheme at all', 'the scheme is unknown'],
    ['', 'the scheme is unknown'],
    ['dir:', 'the directory is missing'],
    ['shipper+http://', 'it is not a URL'],
    ['shipper+http://u:SECRET@host', 'it holds credentials'],
    ['shipper+http://host?token=SECRET', 'it has a query'],
  ])('says what is wrong with %s, and what to do', (url, why) => {
    expect(() => parseSink(url)).toThrow(
      expect.objectContaining({
        code: 'config',
        message: expect.stringContaining(why) as string,
        hint: expect.stringMatching(/./) as string,
      }),
    );
  });

  it.each([
    'shipper+http://u:SECRET@pa@host',
    'shipper+http://u:a/SECRET@host',
    'foo://host?token=SECRET',
    'shipper+http://SECRET@host',
  ])('never shows a secret of %s', (url) => {
    expect(() => parseSink(url)).toThrow(/^((?!SECRET).)*$/);
  });
});

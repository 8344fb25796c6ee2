import { describe, expect, it } from 'vitest';
import { ShipperError } from '../../src/core/errors.js';
import { parseListenAddress } from '../../src/cli/listen-address.js';

describe('parseListenAddress', () => {
  it.each([
    ['127.0.0.1:7790', '127.0.0.1', 7790],
    ['localhost:0', 'localhost', 0],
    ['[::1]:7790', '::1', 7790],
    ['[::ffff:127.0.0.1]:65535', '::ffff:127.0.0.1', 65_535],
    ['logs.example.com:80', 'logs.example.com', 80],
  ])('reads %s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port });
  });

  it.each([
    '',
    '7790',
    ':7790',
    'localhost',
    'localhost:',
    '::1:7790',
    '[::1]',
    'a b:1',
    'a:65536',
  ])('refuses %j with an example', (text) => {
    expect(() => parseListenAddress(text)).toThrow(ShipperError);
    expect(() => parseListenAddress(text)).toThrow(`option --listen: "${text}" is not host:port`);
  });
});

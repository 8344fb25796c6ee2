import { describe, expect, it } from 'vitest';
import { isLoopback, refuseOpenAccess } from '../../src/receive/open-access.js';

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.9.9.9', 'localhost', '::1'])('is true of %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each(['0.0.0.0', '::', '128.0.0.1', '127.0.0.1.example.com', 'localhost.example.com'])(
    'is false of %s',
    (host) => {
      expect(isLoopback(host)).toBe(false);
    },
  );
});

describe('refuseOpenAccess', () => {
  it('lets others in with a token, and this machine without one', () => {
    refuseOpenAccess('0.0.0.0', 'token');
    refuseOpenAccess('127.0.0.1', undefined);
  });

  it('says what is missing, and how to give it', () => {
    expect(() => {
      refuseOpenAccess('0.0.0.0', undefined);
    }).toThrow(
      expect.objectContaining({
        code: 'config',
        message: 'cannot listen on 0.0.0.0 without a token',
        hint: expect.stringContaining('--token-file') as string,
      }),
    );
  });
});

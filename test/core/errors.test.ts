import { describe, expect, it } from 'vitest';
import {
  ShipperError,
  errorLine,
  reasonOf,
  systemCode,
  type ErrorCode,
} from '../../src/core/errors.js';
import { EXIT } from '../../src/core/exit-codes.js';

describe('ShipperError', () => {
  it.each<[ErrorCode, number]>([
    ['usage', EXIT.usage],
    ['config', EXIT.config],
    ['spool-unusable', EXIT.io],
    ['archive-unusable', EXIT.io],
    ['listen-failed', EXIT.config],
    ['io-failed', EXIT.io],
    ['damaged', EXIT.data],
    ['lock-held', EXIT.undelivered],
    ['command-not-found', EXIT.notFound],
    ['command-not-executable', EXIT.notExecutable],
    ['spawn-failed', EXIT.wrapperFailed],
  ])('of code %s exits with %i', (code, exitCode) => {
    expect(new ShipperError(code, 'x').exitCode).toBe(exitCode);
  });

  it('keeps its cause', () => {
    const cause = new Error('below');
    expect(new ShipperError('io-failed', 'x', { cause }).cause).toBe(cause);
  });
});

describe('errorLine', () => {
  it('says what, why and what to try on one line', () => {
    const error = new ShipperError('config', 'port 80 is taken', { hint: 'choose another' });
    expect(errorLine(error)).toBe('shipper: port 80 is taken; choose another');
  });

  it('needs no hint', () => {
    expect(errorLine(new Error('broken'))).toBe('shipper: broken');
  });
});

describe('reasonOf', () => {
  it('makes one line of many', () => {
    expect(reasonOf(new Error('first\n  second\nthird'))).toBe('first second third');
  });

  it('takes anything that can be thrown', () => {
    expect(reasonOf('a text')).toBe('a text');
    expect(reasonOf(undefined)).toBe('undefined');
  });
});

describe('systemCode', () => {
  it('finds the code of a system error', () => {
    expect(systemCode(Object.assign(new Error('x'), { code: 'ENOENT' }))).toBe('ENOENT');
  });

  it.each([new Error('x'), Object.assign(new Error('x'), { code: 7 }), 'ENOENT', null])(
    'is undefined for anything else',
    (error) => {
      expect(systemCode(error)).toBeUndefined();
    },
  );
});

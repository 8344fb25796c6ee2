import { describe, expect, it } from 'vitest';
import { createLogger, type LoggerSettings } from '../../src/telemetry/logger.js';
import type { Logger } from '../../src/telemetry/log.js';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

function logged(settings: Omit<LoggerSettings, 'write'>, log: (logger: Logger) => void): string[] {
  const lines: string[] = [];
  log(createLogger({ ...settings, write: (line) => lines.push(line) }));
  return lines;
}

describe('a logger', () => {
  it('writes lines as every other line that shipper prints', () => {
    const lines = logged({ level: 'info', format: 'text' }, (logger) => {
      logger.info({}, 'sealed');
      logger.warn({ file: '/spool/x', at: 17, retried: false, reason: null }, 'left alone');
    });
    expect(lines).toEqual([
      'shipper: sealed\n',
      'shipper: left alone (file=/spool/x at=17 retried=false reason=null)\n',
    ]);
  });

  it('writes one line, whatever the fields hold', () => {
    const lines = logged({ level: 'info', format: 'text' }, (logger) => {
      logger.info({ file: '/a\nshipper: forged' }, 'one\ntwo');
    });
    expect(lines).toEqual(['shipper: one two (file=/a shipper: forged)\n']);
  });

  it('writes JSON for machines, one document a line', () => {
    const [line = ''] = logged({ level: 'info', format: 'json' }, (logger) => {
      logger.error({ run: 'ID' }, 'two\nlines');
    });
    expect(line.endsWith('}\n')).toBe(true);
    expect(line.trimEnd()).not.toContain('\n');
    expect(JSON.parse(line)).toMatchObject({ level: 'error', run: 'ID', msg: 'two\nlines' });
  });

  it.each([
    ['debug', LEVELS],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
    ['silent', []],
  ] as const)('writes from its level on: %s', (level, expected) => {
    const lines = logged({ level, format: 'json' }, (logger) => {
      for (const one of LEVELS) logger[one]({}, 'x');
    });
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(expected);
  });
});

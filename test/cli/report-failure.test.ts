import { describe, expect, it } from 'vitest';
import { ShipperError } from '../../src/core/errors.js';
import { EXIT } from '../../src/core/exit-codes.js';
import { reportFailure } from '../../src/cli/report-failure.js';

const plain = { wrapping: false, debug: false };
const systemError = Object.assign(new Error('ENOSPC: no space left on device, write'), {
  code: 'ENOSPC',
  syscall: 'write',
});

describe('reportFailure', () => {
  it('says an expected error in one line, with its own exit code', () => {
    const error = new ShipperError('config', 'port 80 is taken', { hint: 'choose another' });
    expect(reportFailure(error, plain)).toEqual({
      lines: ['shipper: port 80 is taken; choose another'],
      exitCode: EXIT.config,
    });
  });

  it('says a failed system call in one line, as trouble with the disk', () => {
    expect(reportFailure(systemError, plain)).toEqual({
      lines: ['shipper: ENOSPC: no space left on device, write'],
      exitCode: EXIT.io,
    });
  });

  it('calls anything else a defect, without a stack', () => {
    const report = reportFailure(new TypeError('x is\nnot a function'), plain);
    expect(report.lines).toEqual([
      expect.stringMatching(/^shipper: internal error: x is not a function; /),
    ]);
    expect(report.exitCode).toBe(EXIT.internal);
  });

  it('shows the stack of a defect to those who asked for debug output', () => {
    const { lines } = reportFailure(new TypeError('x'), { ...plain, debug: true });
    expect(lines[1]).toContain('report-failure.test.ts');
  });

  it('shows no stack of an expected error, ever', () => {
    const { lines } = reportFailure(systemError, { ...plain, debug: true });
    expect(lines).toHaveLength(1);
  });

  it.each([
    [new ShipperError('usage', 'x'), EXIT.wrapperFailed],
    [new ShipperError('spool-unusable', 'x'), EXIT.wrapperFailed],
    [new ShipperError('command-not-found', 'x'), EXIT.notFound],
    [new ShipperError('command-not-executable', 'x'), EXIT.notExecutable],
    [systemError, EXIT.wrapperFailed],
    [new Error('x'), EXIT.wrapperFailed],
  ])('in front of a wrapped command, exits as wrappers do: %s', (error, exitCode) => {
    expect(reportFailure(error, { wrapping: true, debug: false }).exitCode).toBe(exitCode);
  });
});

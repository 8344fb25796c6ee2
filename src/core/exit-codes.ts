/**
 * Every exit status of shipper's own (sysexits.h where one fits; 125–127 as `env` and `timeout`
 * do). The README's table is generated from here. An unknown code means failure.
 */
export const EXIT = {
  ok: 0,
  usage: 64,
  data: 65,
  internal: 70,
  io: 74,
  undelivered: 75,
  refused: 77,
  config: 78,
  wrapperFailed: 125,
  notExecutable: 126,
  notFound: 127,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface ExitCodeRow {
  readonly code: string;
  readonly from: string;
  readonly meaning: string;
}

export const EXIT_CODE_TABLE: readonly ExitCodeRow[] = [
  { code: "the command's own", from: 'run', meaning: 'passed through, also 125…127 and ≥ 128' },
  {
    code: 'signal n',
    from: 'run',
    meaning: 'the wrapper ends by the same signal (128+n where it cannot)',
  },
  {
    code: '0',
    from: 'the others',
    meaning: 'done; for `drain`: everything that is sealed in the spool is delivered',
  },
  { code: String(EXIT.usage), from: 'the others', meaning: 'usage' },
  { code: String(EXIT.data), from: 'drain', meaning: 'data that does not add up' },
  {
    code: String(EXIT.internal),
    from: 'the others',
    meaning: 'internal error: a defect of shipper',
  },
  {
    code: String(EXIT.io),
    from: 'the others',
    meaning: 'the spool or archive cannot be read or written',
  },
  {
    code: String(EXIT.undelivered),
    from: 'drain',
    meaning: 'something is not delivered yet: try again later',
  },
  {
    code: String(EXIT.refused),
    from: 'drain',
    meaning: 'the destination refused the credentials',
  },
  { code: String(EXIT.config), from: 'the others', meaning: 'configuration' },
  {
    code: String(EXIT.wrapperFailed),
    from: 'run',
    meaning: 'shipper failed before the command started (also a usage error)',
  },
  {
    code: String(EXIT.notExecutable),
    from: 'run',
    meaning: 'the command was found and cannot be executed',
  },
  { code: String(EXIT.notFound), from: 'run', meaning: 'the command was not found' },
];

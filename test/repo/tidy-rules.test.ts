import { describe, expect, it } from 'vitest';
import {
  problemsOfCode,
  problemsOfLockFile,
  problemsOfMirror,
  problemsOfProgram,
  problemsOfText,
  relativeLinks,
  unusedFixtures,
} from './tidy-rules.js';

describe('tidy rules', () => {
  it.each([
    `// ${'TO' + 'DO'}: later`,
    'FIX' + 'ME',
    `describe.${'on' + 'ly'}('x', () => {});`,
    `see /${'wo' + 'rk'}/main`,
    `'/${'ro' + 'ot'}/.cache'`,
  ])('find %j in a text', (line) => {
    expect(problemsOfText('a.md', `fine\n${line}\n`)).toEqual([
      expect.stringMatching(/^a\.md:2: /),
    ]);
  });

  it.each(['a method', 'the only (one)', 'https://example.org/work/here', './work/x', 'hacking'])(
    'let %j pass in a text',
    (line) => {
      expect(problemsOfText('a.md', line)).toEqual([]);
    },
  );

  it('find a long line and a long file in code', () => {
    expect(problemsOfCode('a.ts', 'x'.repeat(100))).toEqual([]);
    expect(problemsOfCode('a.ts', 'x'.repeat(101))).toEqual(['a.ts:1: 101 columns, at most 100']);
    expect(problemsOfCode('a.ts', 'x\n'.repeat(400))).toEqual([]);
    expect(problemsOfCode('a.ts', 'x\n'.repeat(401))).toEqual(['a.ts: 401 lines, at most 400']);
  });

  it('find ignored coverage that gives no reason', () => {
    expect(problemsOfCode('a.ts', '/' + '* v8 ignore next */')).toHaveLength(1);
    expect(problemsOfCode('a.ts', '/' + '* v8 ignore next -- needs Windows */')).toEqual([]);
  });

  it('find the end of a process in a program', () => {
    expect(problemsOfProgram('a.ts', `process.${'ex' + 'it'}(1)`)).toHaveLength(1);
    expect(problemsOfProgram('a.ts', 'process.exitCode = 1')).toEqual([]);
  });

  it('find relative links outside of code', () => {
    const text = [
      '[a](docs/a.md#part) and ![b](b.png "title")',
      '[web](https://example.org) [mail](mailto:a@example.org) [here](#here) `[code](no.md)`',
      '```',
      '[block](no.md)',
      '```',
      '[last](c.md)',
    ].join('\n');
    expect(relativeLinks(text)).toEqual(['docs/a.md', 'b.png', 'c.md']);
  });

  it('find a registry in the lock file', () => {
    expect(problemsOfLockFile('"resolved": "x"')).toHaveLength(1);
    expect(problemsOfLockFile('"https://registry.example.org/a.tgz"')).toHaveLength(1);
    expect(problemsOfLockFile('"url": "https://example.org/fund"')).toEqual([]);
  });

  it('find sources without a test, tests without a source, and needless excuses', () => {
    const sources = ['core/a.ts', 'core/b.ts', 'core/c.ts', 'core/d.ts'];
    const tests = ['core/a.test.ts', 'core/c.fuzz.test.ts', 'core/gone.test.ts'];
    expect(problemsOfMirror(sources, tests, { 'core/d.ts': 'x', 'core/a.ts': 'y' })).toEqual([
      'src/core/b.ts: has no test/core/b.test.ts',
      'test/core/gone.test.ts: has no src/core/gone.ts',
      'untested.ts: src/core/a.ts needs no excuse',
    ]);
  });

  it('find fixtures that nothing mentions', () => {
    const fixtures = [
      'programs/flood.js',
      'programs/idle.js',
      'golden/v1/a/b.seg',
      'golden/v2/a.seg',
    ];
    const texts = ["fixture('programs', 'flood.js')", 'golden/v1'];
    expect(unusedFixtures(fixtures, texts)).toEqual(['programs/idle.js', 'golden/v2/a.seg']);
  });
});

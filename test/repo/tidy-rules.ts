/**
 * The rules of the tidy test, as functions from text to problems. They hold what no other tool of
 * the gate checks; a problem is one sentence that starts with the place.
 */

const LINES_MAX = 400;
/** Two files side by side on one screen. */
const COLUMNS_MAX = 100;

/** Put together from halves, so that this file does not trip over its own rules. */
const leftovers: readonly [RegExp, string][] = [
  [
    new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`),
    'a note',
  ],
  [new RegExp(`\\b(describe|it|test)\\.${'on' + 'ly'}\\(`), 'a test that hides the others'],
  [new RegExp(`^\\s*${'debug' + 'ger'};`), 'a breakpoint'],
];
const machinePath = new RegExp(`(?<![\\w.~-])/(${'wo' + 'rk'}|${'ro' + 'ot'})/`);
const unexplainedIgnore = /\/\* (v8|c8|istanbul) ignore (?!.* -- \S)/;
const endOfProcess = new RegExp(`\\bprocess\\.${'ex' + 'it'}\\(`);

/** Text of any kind. */
export function problemsOfText(path: string, text: string): string[] {
  return problemsOfLines(path, text, (line) => [
    ...leftovers
      .filter(([marker]) => marker.test(line))
      .map(([, what]) => `${what} was left behind`),
    ...(machinePath.test(line) ? ["names a folder of somebody's machine"] : []),
  ]);
}

/** TypeScript and JavaScript. */
export function problemsOfCode(path: string, text: string): string[] {
  const count = text.trimEnd().split('\n').length;
  const tooLong = count > LINES_MAX ? [`${path}: ${count} lines, at most ${LINES_MAX}`] : [];
  const inLines = problemsOfLines(path, text, (line) => [
    ...(line.length > COLUMNS_MAX ? [`${line.length} columns, at most ${COLUMNS_MAX}`] : []),
    ...(unexplainedIgnore.test(line) ? ['coverage is ignored without ` -- reason`'] : []),
  ]);
  return [...tooLong, ...inLines];
}

/** Our own programs; child programs of tests may end as they like. */
export function problemsOfProgram(path: string, text: string): string[] {
  return problemsOfLines(path, text, (line) =>
    endOfProcess.test(line) ? ['ends the process while output may still be on its way'] : [],
  );
}

function problemsOfLines(
  path: string,
  text: string,
  problemsOfLine: (line: string) => string[],
): string[] {
  return text
    .split('\n')
    .flatMap((line, index) => problemsOfLine(line).map((what) => `${path}:${index + 1}: ${what}`));
}

/** Targets of the relative links of a Markdown text, without their anchors. */
export function relativeLinks(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)/g)]
    .map(([, target = '']) => target.replace(/#.*/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target));
}

/** An address in the lock file binds every install to one registry. */
export function problemsOfLockFile(text: string): string[] {
  return problemsOfLines('package-lock.json', text, (line) =>
    /"resolved"|registry\./.test(line) ? ['names a registry'] : [],
  );
}

/**
 * Which sources have no test, and which tests no source. `test/spool/lock.test.ts` belongs to
 * `src/spool/lock.ts`, and so does `test/spool/lock.race.test.ts`.
 *
 * @param sources paths from `src` of files with logic in them
 * @param tests paths from `test` of test files
 * @param untested sources that need no test of their own, with the reason
 */
export function problemsOfMirror(
  sources: readonly string[],
  tests: readonly string[],
  untested: Readonly<Record<string, string>>,
): string[] {
  const tested = new Set(tests.map((path) => path.replace(/(\.[\w-]+)?\.test\.ts$/, '.ts')));
  const excused = Object.keys(untested);
  return [
    ...sources
      .filter((path) => !tested.has(path) && !excused.includes(path))
      .map((path) => `src/${path}: has no test/${path.replace(/\.ts$/, '.test.ts')}`),
    ...[...tested]
      .filter((path) => !sources.includes(path))
      .map((path) => `test/${path.replace(/\.ts$/, '.test.ts')}: has no src/${path}`),
    ...excused
      .filter((path) => !sources.includes(path) || tested.has(path))
      .map((path) => `untested.ts: src/${path} needs no excuse`),
  ];
}

/**
 * Fixtures that nothing mentions. The first two parts of a path count: each program of a folder by
 * its own name, a golden folder as a whole.
 *
 * @param fixtures paths from `fixtures`
 * @param texts of the files that may use them
 */
export function unusedFixtures(fixtures: readonly string[], texts: readonly string[]): string[] {
  return fixtures.filter((path) => {
    const names = path
      .split('/')
      .slice(0, 2)
      .map((name) => name.replace(/(?<=.)\.\w+$/, ''));
    return !names.every((name) => texts.some((text) => text.includes(name)));
  });
}

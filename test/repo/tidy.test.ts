/**
 * Style as a test: what no other tool of the gate checks, over all files of the repository. It
 * reads folders rather than asking Git, so that it also runs on an unpacked archive.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
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
import { untested } from './untested.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A newcomer sees these first. Tool configuration may be added, folders hardly ever. */
const topLevel = [
  /^(bin|src|test|fixtures)$/,
  /^(README|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md$/,
  /^LICENSE$/,
  /^package(-lock)?\.json$/,
  /^tsconfig(\.test)?\.json$/,
  /^(eslint|vitest)\.config\.(js|ts)$/,
  /^knip\.json$/,
  /^\./,
];

/** The layers, which `test` mirrors. */
const layers = [
  'archive',
  'capture',
  'cli',
  'core',
  'disk',
  'frames',
  'receive',
  'sinks',
  'spool',
  'telemetry',
  'upload',
];

const ignored = new Set(
  readFileSync(join(root, '.gitignore'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/\/$/, ''))
    .concat('.git'),
);

/** Paths of the files below a folder, from there. */
function filesBelow(folder: string, inner = ''): string[] {
  const path = join(root, folder, inner);
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((found) => !ignored.has(found.name))
    .flatMap((found) => {
      const name = join(inner, found.name);
      return found.isDirectory() ? filesBelow(folder, name) : [name];
    });
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Whether anything is left of a source when its types are gone. */
function hasLogic(path: string): boolean {
  const { outputText } = ts.transpileModule(read(path), {
    compilerOptions: { module: ts.ModuleKind.ESNext, removeComments: true },
  });
  return outputText.replace('export {};', '').trim() !== '';
}

const files = filesBelow('');
const code = files.filter((path) => /\.(ts|js)$/.test(path));
const isText = (path: string) => !path.startsWith('fixtures/') && path !== 'package-lock.json';
const isOurProgram = (path: string) => /^(bin|src|test)\//.test(path);

describe('the repository', () => {
  it('has nothing unexpected at its top', () => {
    const names = readdirSync(root).filter((name) => !ignored.has(name));
    expect(names.filter((name) => !topLevel.some((allowed) => allowed.test(name)))).toEqual([]);
  });

  it('has no folder in src beside the layers', () => {
    const folders = filesBelow('src').map((path) => dirname(path).split('/')[0]!);
    expect([...new Set(folders)].filter((folder) => !layers.includes(folder))).toEqual([]);
  });

  it('has no leftovers and names no machine', () => {
    expect(files.filter(isText).flatMap((path) => problemsOfText(path, read(path)))).toEqual([]);
  });

  it('keeps code within its limits', () => {
    expect(code.flatMap((path) => problemsOfCode(path, read(path)))).toEqual([]);
  });

  it('never cuts a process off', () => {
    const ours = code.filter(isOurProgram);
    expect(ours.flatMap((path) => problemsOfProgram(path, read(path)))).toEqual([]);
  });

  it('has a test for each source with logic, and a source for each test', () => {
    const sources = filesBelow('src').filter((path) => hasLogic(join('src', path)));
    const tests = filesBelow('test').filter(
      (path) => path.endsWith('.test.ts') && layers.includes(path.split('/')[0]!),
    );
    expect(problemsOfMirror(sources, tests, untested)).toEqual([]);
  });

  it('has no broken link in its documents', () => {
    const broken = files
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        relativeLinks(read(path))
          .filter((target) => !existsSync(join(root, dirname(path), target)))
          .map((target) => `${path}: ${target} does not exist`),
      );
    expect(broken).toEqual([]);
  });

  it('uses every fixture', () => {
    const fixtures = filesBelow('fixtures').filter((path) => !path.endsWith('README.md'));
    const users = code.filter((path) => path.startsWith('test/')).map(read);
    expect(unusedFixtures(fixtures, users)).toEqual([]);
  });

  it('installs from any registry', () => {
    expect(problemsOfLockFile(read('package-lock.json'))).toEqual([]);
    expect(read('.npmrc')).not.toMatch(/^registry/m);
  });
});

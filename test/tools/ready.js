// Makes a fresh clone ready to run: installs the packages and compiles the program, each only when
// needed. Needs nothing but Node and npm; silent when there is nothing to do.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = join(root, 'src');
const output = join(root, 'dist');
/** Says which sources `dist` was compiled from. In `dist`, so that it goes when `dist` goes. */
const stamp = join(output, '.built-from');

/** Installs and compiles what is missing or out of date. Throws when a step fails. */
export function ready() {
  if (!isInstalled()) install();
  readyToRun();
}

/** Compiles when `dist` is missing or out of date. Throws when the compiler finds an error. */
export function readyToRun() {
  const wanted = fingerprint();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  compile();
  removeStaleOutput();
  writeFileSync(stamp, wanted);
}

/** npm writes down what it installed, last of all: that must be what the lock file asks for. */
function isInstalled() {
  const record = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = readPackages(record);
  const wanted = readPackages(join(root, 'package-lock.json'));
  delete wanted[''];
  // Optional packages are those of other platforms, so they may be missing.
  return (
    Object.keys(installed).every((path) => installed[path]?.version === wanted[path]?.version) &&
    Object.keys(wanted).every((path) => wanted[path]?.optional === true || path in installed)
  );
}

/**
 * @param {string} path of a lock file
 * @returns {Record<string, { version?: string, optional?: boolean }>}
 */
function readPackages(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}

function install() {
  say('installing…');
  // A production environment would leave the compiler out.
  run('npm', ['ci', '--include=dev', '--loglevel=error']);
}

function compile() {
  say('building…');
  mkdirSync(output, { recursive: true });
  rmSync(stamp, { force: true });
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root]);
}

/** A test or a package must not find the output of a source that is gone. */
function removeStaleOutput() {
  const bases = new Set(filesBelow(sources).map((path) => path.replace(/\.ts$/, '')));
  for (const path of filesBelow(output)) {
    if (!bases.has(path.replace(/(\.js|\.js\.map|\.d\.ts)$/, ''))) rmSync(join(output, path));
  }
}

/** Content, not times: a checkout or a copy changes times only. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json']) {
    hash.update(readFileSync(join(root, name)));
  }
  for (const path of filesBelow(sources)) {
    hash.update(`\0${path}\0`).update(readFileSync(join(sources, path)));
  }
  return hash.digest('hex');
}

/**
 * @param {string} folder
 * @returns {string[]} paths from the folder, in a stable order
 */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath, found.name).slice(folder.length + 1))
    .sort();
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const shell = process.platform === 'win32' && command === 'npm';
  // npm says on stdout how well it went, tsc what is wrong. Ours belongs to whoever called.
  const stdout = command === 'npm' ? 'ignore' : process.stderr.fd;
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', stdout, process.stderr.fd],
    shell,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`'${command} ${args.join(' ')}' failed in ${root}`);
}

/** @param {string} line */
function say(line) {
  process.stderr.write(`${line}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    ready();
  } catch (error) {
    say(`not ready: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

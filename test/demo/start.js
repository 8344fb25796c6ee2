// `npm start`: shows a run from end to end. A real program prints thousands of lines on both
// streams through `shipper run`; a receiver of its own takes them; then every byte is compared with
// what the program printed. Needs nothing but Node, npm and a shell.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  watch,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ready } from '../tools/ready.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const shipper = join(root, 'bin/shipper.js');
const node = process.execPath;
const streams = /** @type {const} */ (['stdout', 'stderr']);

ready();
const folder = mkdtempSync(join(tmpdir(), 'shipper-demo-'));
const runs = join(folder, 'spool', 'runs');
const receiver = await startReceiver();
try {
  process.exitCode = (await demonstrate()) ? 0 : 1;
} finally {
  receiver.end();
}

/** Whether every byte arrived. */
async function demonstrate() {
  const sealed = watchSegments();
  const startedMs = performance.now();
  const exitCode = await wrapProgram(receiver.url);
  const seconds = (performance.now() - startedMs) / 1000;
  const { requests } = await receiver.stop();
  sealed.stop();
  const archive = archiveOfRun();
  const comparisons = streams.map((stream) => compare(stream, archive));
  const isDelivered = readdirSync(runs).length === 0;
  report({ segments: sealed.names.size, requests, seconds, archive, isDelivered }, comparisons);
  return exitCode === 0 && isDelivered && comparisons.every(({ isIdentical }) => isIdentical);
}

/** Notes the names of the sealed segments: once delivered, they are gone. */
function watchSegments() {
  mkdirSync(runs, { recursive: true, mode: 0o700 });
  const names = new Set();
  /** @type {import('node:fs').FSWatcher[]} */
  const watchers = [];
  watchers.push(
    watch(runs, (_event, run) => {
      const directory = join(runs, run ?? '');
      if (watchers.length > 1 || run?.endsWith('.tmp') === true || !existsSync(directory)) return;
      watchers.push(
        watch(directory, (_change, name) => {
          if (name?.endsWith('.seg') === true) names.add(name);
        }),
      );
    }),
  );
  return {
    names,
    stop: () => {
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** A receiver on a free loopback port. */
async function startReceiver() {
  const args = ['receive', '--listen', '127.0.0.1:0', '--dir', join(folder, 'received'), '--json'];
  const child = start(args, ['ignore', 'pipe', 'inherit']);
  /** @type {AsyncIterator<string>} */
  const lines = createInterface({ input: /** @type {any} */ (child.stdout) })[
    Symbol.asyncIterator
  ]();
  const { url } = await nextEvent(lines);
  return {
    url,
    /** In any case: a child that lives would keep us waiting. */
    end: () => child.kill('SIGKILL'),
    stop: async () => {
      child.kill('SIGTERM');
      return nextEvent(lines);
    },
  };
}

/**
 * The next line of JSON that the receiver prints.
 *
 * @param {AsyncIterator<string>} lines
 * @returns {Promise<any>}
 */
async function nextEvent(lines) {
  const { value, done } = await lines.next();
  if (done === true) throw new Error('the receiver has ended early');
  return JSON.parse(value);
}

/**
 * The program keeps a copy of what it prints by itself, so that the truth does not depend on
 * shipper; and what shipper passes through goes to files.
 *
 * @param {string} url
 */
async function wrapProgram(url) {
  const compile = 'node node_modules/typescript/bin/tsc -p . --noEmit --traceResolution';
  const program =
    `node --v8-options | tee '${printed('stdout')}'; ` +
    `${compile} | tee '${printed('stderr')}' >&2`;
  const outputs = streams.map((stream) => openSync(passed(stream), 'w'));
  const child = start(
    [
      ...['run', '--spool', join(folder, 'spool'), '--to', `shipper+${url}`, '--name', 'demo'],
      ...['--drain-timeout', '1m', '--', 'sh', '-c', program],
    ],
    ['ignore', ...outputs],
  );
  const [code] = await once(child, 'close');
  outputs.forEach(closeSync);
  return code;
}

/**
 * @param {string[]} args
 * @param {any[]} stdio
 */
function start(args, stdio) {
  console.log(`$ shipper ${args.map(quoted).join(' ')}\n`);
  return spawn(node, [shipper, ...args], { cwd: root, stdio });
}

/** @param {string} word */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `"${word}"`;
}

/** @param {'stdout' | 'stderr'} stream */
function printed(stream) {
  return join(folder, `printed.${stream}`);
}

/** @param {'stdout' | 'stderr'} stream */
function passed(stream) {
  return join(folder, `passed-through.${stream}`);
}

/** The folder of the only run. */
function archiveOfRun() {
  const received = join(folder, 'received');
  return join(received, readdirSync(received)[0] ?? 'nothing');
}

/**
 * What the program printed against what shipper passed through and what lies in the archive.
 *
 * @param {'stdout' | 'stderr'} stream
 * @param {string} archive
 */
function compare(stream, archive) {
  const truth = readFileSync(printed(stream));
  const copies = [passed(stream), join(archive, `${stream}.log`)];
  const record = JSON.parse(readFileSync(join(archive, 'run.json'), 'utf8'));
  const sha256 = createHash('sha256').update(truth).digest('hex');
  return {
    stream,
    bytes: truth.length,
    lines: truth.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0),
    isIdentical:
      truth.length > 0 &&
      copies.every((path) => truth.equals(readFileSync(path))) &&
      record.streams?.[stream]?.sha256 === sha256,
  };
}

/**
 * @param {object} run
 * @param {number} run.segments
 * @param {number} run.requests
 * @param {number} run.seconds
 * @param {string} run.archive
 * @param {boolean} run.isDelivered
 * @param {ReturnType<typeof compare>[]} comparisons
 */
function report({ segments, requests, seconds, archive, isDelivered }, comparisons) {
  for (const { stream, lines, bytes, isIdentical } of comparisons) {
    const verdict = isIdentical ? 'identical to' : 'DIFFERS from';
    console.log(`${stream}: ${figure(lines)} lines, ${figure(bytes)} bytes`);
    console.log(`        ${verdict} what the program printed (archive, pass-through, SHA-256)`);
  }
  console.log(
    `spool:  ${figure(segments)} segments sealed, ${isDelivered ? 'all' : 'NOT all'} removed`,
  );
  console.log(`time:   ${seconds.toFixed(1)} s for the program and its delivery`);
  console.log(`sent:   ${figure(requests)} requests`);
  console.log(`archive: ${archive}`);
}

/** @param {number} value */
function figure(value) {
  return value.toLocaleString('en-US');
}

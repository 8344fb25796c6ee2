// Side by side in one run: how fast output is captured and delivered, next to other loggers that
// are installed. Figures of a busy machine: read the ratios. Nothing here is asserted.
//
//     npm run bench              416 MB in lines of 104 bytes, three rounds
//     npm run bench -- 50 1      50 MB, one round
import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { readyToRun } from '../tools/ready.js';

const megabytes = Number(process.argv[2] ?? 416);
const rounds = Number(process.argv[3] ?? 3);
const shipper = new URL('../../bin/shipper.js', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'shipper-bench-'));
const input = join(folder, 'lines.txt');

/** One line of 104 bytes a time, each different. */
async function writeInput() {
  const file = createWriteStream(input);
  const lines = Math.round((megabytes * 1e6) / 104);
  for (let line = 0; line < lines;) {
    let text = '';
    for (let count = 0; count < 10_000 && line < lines; count += 1, line += 1) {
      text += `${String(line).padStart(12, '0')} ${'the quick brown fox jumps '.repeat(4)}`.slice(
        0,
        103,
      );
      text += '\n';
    }
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

/** @typedef {{ seconds: number, cpu: number, megabytes: number }} Result */

/**
 * Wall seconds, CPU seconds and peak RSS of a shell command, in an empty folder `work`.
 * @param {string} script
 * @returns {Result}
 */
function measure(script) {
  const work = join(folder, 'work');
  rmSync(work, { recursive: true, force: true });
  spawnSync('mkdir', ['-p', work]);
  const started = performance.now();
  const timed = existsSync('/usr/bin/time') ? ['/usr/bin/time', '-f', '%U %S %M'] : [];
  const words = [...timed, 'sh', '-c', script];
  const result = spawnSync(words[0] ?? 'sh', words.slice(1), {
    cwd: work,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const seconds = (performance.now() - started) / 1000;
  const lastLine = String(result.stderr).trim().split('\n').at(-1) ?? '';
  const [user, system, kilobytes] = lastLine.split(' ');
  return { seconds, cpu: Number(user) + Number(system), megabytes: Number(kilobytes) / 1024 };
}

async function startReceiver() {
  const args = [
    shipper,
    'receive',
    '--listen',
    '127.0.0.1:0',
    '--dir',
    join(folder, 'archive'),
    '--json',
  ];
  const receiver = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(receiver.stdout, 'data');
  return { receiver, url: JSON.parse(String(line)).url };
}

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
/** @param {number} value */
const figure = (value) => (Number.isNaN(value) ? '-' : value.toFixed(2)).padStart(9);

readyToRun();
await writeInput();
const { receiver, url } = await startReceiver();
const run = `'${process.execPath}' '${shipper}' run --spool spool --no-passthrough`;
/** @param {string} name */
const isInstalled = (name) => spawnSync('which', [name]).status === 0;
/** @type {Record<string, string>} */
const contestants = {
  'cat | cat > file, synced': `cat '${input}' | cat > out; sync out`,
  ...(isInstalled('multilog') && {
    multilog: `cat '${input}' | multilog t s16777215 n100 ./out`,
  }),
  ...(isInstalled('s6-log') && {
    's6-log': `mkdir out; cat '${input}' | s6-log -b t n100 s16777215 ./out`,
  }),
  'shipper, spool only': `${run} -- cat '${input}'`,
  'shipper --to dir:': `${run} --to dir:archive -- cat '${input}'`,
  'shipper --to shipper+http:': `${run} --to shipper+${url} --drain-timeout 10m -- cat '${input}'`,
  'node -e 0': `'${process.execPath}' -e 0`,
  'shipper run -- true': `${run} -- true`,
  'shipper run --to dir: -- true': `${run} --to dir:archive -- true`,
};
/** @type {Record<string, Result[]>} */
const results = {};
for (let round = 0; round < rounds; round += 1) {
  for (const [name, script] of Object.entries(contestants)) {
    (results[name] ??= []).push(measure(script));
  }
}
console.log(`${megabytes} MB, median of ${rounds}`.padEnd(32), '  seconds    CPU-s   peak MiB');
for (const [name, measured] of Object.entries(results)) {
  /** @param {keyof Result} key */
  const of = (key) => figure(median(measured.map((result) => result[key])));
  console.log(name.padEnd(32), of('seconds'), of('cpu'), of('megabytes'));
}
receiver.kill();
await once(receiver, 'close');
rmSync(folder, { recursive: true });

/**
 * Takes and frees one lock as it is told: `acquire <path> <wall-clock ms>` waits for that moment
 * first, so that rivals start together.
 */
import { createInterface } from 'node:readline';
import { acquireLock, type Lock } from '../../src/spool/lock.js';

let lock: Lock | undefined;

async function answer(line: string): Promise<string> {
  const [command, path = '', atMs = '0'] = line.split(' ');
  if (command === 'release') {
    await lock?.release();
    return 'released';
  }
  while (Date.now() < Number(atMs));
  const attempt = await acquireLock(path, () => undefined);
  if (attempt.kind === 'acquired') lock = attempt.lock;
  return attempt.kind;
}

process.stdout.write('ready\n');
for await (const line of createInterface(process.stdin)) {
  process.stdout.write(`${await answer(line)}\n`);
}

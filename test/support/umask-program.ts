/** Makes directories and a file with the umask that it is given, and prints their modes. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectories } from '../../src/disk/durable.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';

const [root = '', umask = ''] = process.argv.slice(2);

process.umask(Number.parseInt(umask, 8));
const directory = join(root, 'a', 'b');
await makeDirectories(nodeFileSystem, directory);
const file = join(directory, 'file');
await nodeFileSystem.create(file).close();
const modes = [join(root, 'a'), directory, file].map((path) => statSync(path).mode & 0o777);
process.stdout.write(`${modes.map((mode) => mode.toString(8)).join(' ')}\n`);

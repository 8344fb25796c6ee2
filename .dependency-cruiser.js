// The layers of ARCHITECTURE.md as rules. Core modules are named without `node:` here.

/**
 * Imports go down only, and folders of equal rank do not know each other.
 * @type {Record<string, number>}
 */
const rankOfFolder = {
  bin: 5,
  'src/cli': 4,
  'src/capture': 3,
  'src/upload': 3,
  'src/receive': 3,
  'src/spool': 2,
  'src/archive': 2,
  'src/sinks': 2,
  'src/frames': 1,
  'src/disk': 1,
  'src/telemetry': 1,
  'src/core': 0,
};

/** One importer per package: replacing it changes one file, and its cost of loading is in sight. */
const ownerOfPackage = {
  chokidar: 'src/upload/watcher.ts',
  'cli-progress': 'src/cli/progress.ts',
  commander: 'src/cli/',
  pino: 'src/telemetry/logger.ts',
  'proper-lockfile': 'src/spool/lock.ts',
  undici: 'src/upload/http-transport.ts',
};

/** Who may use a core module that reaches out of the process. */
const ownersOfCoreModule = {
  // Everything durable goes through the seam in `disk`, so that a simulated disk can stand in.
  fs: [
    'src/disk/',
    'src/capture/', // raw descriptors: FIFOs and pass-through, nothing durable
    'src/spool/lock.ts', // proper-lockfile takes an fs object
    'src/spool/process-identity.ts', // reads /proc, which is no disk
  ],
  // Only the wrapper starts processes.
  child_process: ['src/capture/'],
  // Only the uploader is put into a thread, so that it can stall without stalling capture.
  worker_threads: ['src/upload/', 'src/cli/'],
  // The server. (The client is undici's one file.)
  http: ['src/receive/'],
  https: ['src/receive/'],
  // Types of addresses for the server; `net.Socket` on a FIFO for capture.
  net: ['src/receive/', 'src/capture/'],
  tls: ['src/receive/', 'src/upload/http-transport.ts'],
};

/** Computing without touching anything: a function of these folders can be tested by calling it. */
const pureFolders = ['src/core', 'src/frames', 'src/sinks'];
const pureModules = ['buffer', 'crypto', 'path', 'string_decoder', 'url', 'util', 'zlib'];
/** It reads the monotonic clock. */
const clock = 'src/core/clock.ts';

/** @param {string} text */
const literal = (text) => text.replaceAll('.', '\\.');
/** @param {string[]} names */
const anyOf = (names) => `(${names.map(literal).join('|')})`;

const layers = Object.entries(rankOfFolder).map(([folder, rank]) => {
  const others = Object.entries(rankOfFolder)
    .filter(([other, otherRank]) => other !== folder && otherRank >= rank)
    .map(([other]) => other);
  return {
    name: `layer-of-${folder.replace('src/', '')}`,
    comment: `${folder} may import only folders of a rank below ${rank}.`,
    severity: 'error',
    from: { path: `^${folder}/` },
    // An empty alternative would match everything; `bin` has nobody above or beside it.
    to: { path: others.length > 0 ? `^${anyOf(others)}/` : '^$' },
  };
});

const packages = Object.entries(ownerOfPackage).map(([name, owner]) => ({
  name: `one-importer-of-${name}`,
  comment: `${name} is imported by ${owner} alone.`,
  severity: 'error',
  from: { pathNot: `^${literal(owner)}` },
  to: { path: `node_modules/(@types/)?${name}/` },
}));

const coreModules = Object.entries(ownersOfCoreModule).map(([name, owners]) => ({
  name: `owners-of-${name}`,
  comment: `node:${name} is for ${owners.join(', ')}; see the reasons at the table.`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^${anyOf(owners)}` },
  to: { dependencyTypes: ['core'], path: `^${name}(/|$)` },
}));

const pure = {
  name: 'pure-folders',
  comment: `${pureFolders.join(', ')}: no I/O, no clock, no thread.`,
  severity: 'error',
  from: { path: `^${anyOf(pureFolders)}/`, pathNot: `^${literal(clock)}$` },
  to: { dependencyTypes: ['core'], pathNot: `^${anyOf(pureModules)}$` },
};

const general = [
  {
    name: 'no-circular',
    comment: 'Files that need each other are one file, or miss a third one.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-orphans',
    comment: 'A file that nobody imports is dead. (Entry points are loaded by path.)',
    severity: 'error',
    from: { orphan: true, path: '^src/', pathNot: '^src/(cli/main|upload/worker)\\.ts$' },
    to: {},
  },
  {
    name: 'no-tests-in-src',
    comment: 'The program must run without its tests.',
    severity: 'error',
    from: { path: '^(src|bin)/' },
    to: { path: '^(test|fixtures)/' },
  },
  {
    name: 'no-unowned-package',
    comment: 'A new package needs an owner in the table, and a place in `dependencies`.',
    severity: 'error',
    from: { path: '^(src|bin)/' },
    to: {
      path: 'node_modules/',
      pathNot: `node_modules/(@types/)?${anyOf(Object.keys(ownerOfPackage))}/`,
    },
  },
  {
    name: 'no-unresolvable',
    comment: 'It would fail at run time, perhaps on one path only.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
];

export default {
  forbidden: [...general, ...layers, ...packages, ...coreModules, pure],
  options: {
    // A type that is imported from above binds as much as a value.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
    },
  },
};

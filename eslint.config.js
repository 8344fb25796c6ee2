import comments from '@eslint-community/eslint-plugin-eslint-comments/configs';
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const code = ['**/*.ts', '**/*.js'];
const tests = ['test/**'];
/** Programs of their own, for people and scripts: they print. */
const scripts = ['test/tools/**', 'test/demo/**', 'test/bench/**'];
/** Children that tests wrap. They do what real commands do, good manners or not. */
const fixtures = ['fixtures/**/*.js'];

const exit = {
  object: 'process',
  property: 'exit',
  message: 'It cuts off output that is still being written: set process.exitCode and end.',
};
const random = {
  object: 'Math',
  property: 'random',
  message:
    'Not unique, and not repeatable in a test: take node:crypto, or a function as parameter.',
};
const now = {
  object: 'Date',
  property: 'now',
  message: 'The wall clock jumps: take the Clock of core/clock.ts.',
};

const reexportAll = {
  selector: 'ExportAllDeclaration',
  message: 'Hides where a name comes from, and what is used: export by name.',
};
const newDate = {
  selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
  message: 'Reads the wall clock, which jumps: take the Clock of core/clock.ts.',
};

export default defineConfig(
  globalIgnores(['dist', 'coverage', 'received', '.cache']),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  comments.recommended,
  {
    files: code,
    languageOptions: {
      parserOptions: { project: './tsconfig.test.json', tsconfigRootDir: import.meta.dirname },
      globals: Object.fromEntries(
        ['Buffer', 'URL', 'console', 'fetch', 'performance', 'process'].map((name) => [
          name,
          false,
        ]),
      ),
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      // Small enough to be read in one go; blanks and comments are free.
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 4],
      'max-depth': ['error', 4],

      // stdout and stderr belong to the wrapped command; our words go through cli and telemetry.
      'no-console': 'error',
      'no-restricted-properties': ['error', exit, random, now],
      'no-restricted-syntax': ['error', reexportAll, newDate],
      // One transport does network I/O, by undici: proxies, CAs and timeouts are handled there.
      'no-restricted-globals': ['error', { name: 'fetch', message: 'Use the HTTP transport.' }],

      // A new outcome must be handled everywhere, also where there is a default.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: false, requireDefaultForNonUnion: true },
      ],
      // Type-only imports vanish from the output: the start stays fast, the layers stay true.
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // Both are in the presets; named here because durability depends on them: a promise that
      // nobody awaits is a write that nobody knows to have failed.
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      // `{ secret, ...rest }` is how a field is left out.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // Numbers print the same everywhere.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => stream.end()` is plainer than a block around it.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],

      // An exception to a rule says why, after ` -- `.
      '@eslint-community/eslint-comments/require-description': 'error',
    },
  },
  {
    // The one place that reads the machine's clocks.
    files: ['src/core/clock.ts'],
    rules: { 'no-restricted-properties': ['error', exit, random] },
  },
  {
    files: tests,
    rules: {
      // A describe block is a list, not a function: it may be as long as the file.
      'max-lines-per-function': 'off',
      // A test waits for real processes until a deadline, and talks to the real receiver.
      'no-restricted-properties': ['error', exit, random],
      'no-restricted-syntax': ['error', reexportAll],
      'no-restricted-globals': 'off',
      // A value that is missing fails the test, which is what a test is for.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Parsed JSON is compared at once, not passed on.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      // Fakes are taken apart, and methods handed to a matcher; none of them needs its `this`.
      '@typescript-eslint/unbound-method': 'off',
      // A fake does nothing, asynchronously.
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    // A cast in a comment is seen by the compiler, but not by these rules.
    files: ['**/*.js'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    files: scripts,
    rules: { 'no-console': 'off' },
  },
  {
    // Tiny plain programs, without types.
    files: fixtures,
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      parserOptions: { project: false },
      globals: Object.fromEntries(
        ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval'].map(
          (name) => [name, false],
        ),
      ),
    },
    rules: {
      'no-console': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-syntax': 'off',
    },
  },
);

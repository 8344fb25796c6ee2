// The parts of README.md that are made from the program's own tables, so that they cannot drift.

/**
 * @typedef {object} Tables what the program knows about itself
 * @property {typeof import('../../src/cli/help-text.js')} help
 * @property {typeof import('../../src/core/options.js')} options
 * @property {typeof import('../../src/core/exit-codes.js')} exitCodes
 */

/**
 * The README with its generated parts made anew. A part stands between `<!-- generated: name -->`
 * and `<!-- end -->`. Throws when a part is not there.
 *
 * @param {string} readme
 * @param {Tables} tables
 */
export function withGeneratedParts(readme, tables) {
  let text = readme;
  for (const [name, part] of Object.entries(partsOf(tables))) {
    const marked = new RegExp(`(<!-- generated: ${name} -->\n)[^]*?(<!-- end -->)`);
    if (!marked.test(text)) throw new Error(`README.md has no part '${name}'`);
    text = text.replace(marked, (_all, start, end) => `${start}\n${part}\n\n${end}`);
  }
  return text;
}

/**
 * @param {Tables} tables
 * @returns {Record<string, string>}
 */
function partsOf(tables) {
  return {
    commands: commandsPart(tables),
    options: optionsPart(tables),
    'exit-codes': exitCodesPart(tables),
  };
}

/** @param {Tables} tables */
function commandsPart({ help }) {
  const rows = help.COMMAND_TEXTS.map(({ name, usage, summary }) => [
    code(`shipper ${name} ${usage}`),
    summary,
  ]);
  return table(['command', 'what it does'], rows);
}

/** @param {Tables} tables */
function optionsPart({ help, options }) {
  const rows = options.OPTION_KEYS.map((key) => {
    const spec = options.OPTION_TABLE[key];
    return [
      code(help.flagText(spec)),
      spec.commands.join(', '),
      help.defaultText(key),
      help.meaningText(spec),
      code(options.environmentName(spec)),
    ];
  });
  const heading = ['option', 'commands', 'default', 'meaning', 'variable'];
  return `${table(heading, rows)}\n\n${help.UNITS_TEXT.replace('\n', ' ')}`;
}

/** @param {Tables} tables */
function exitCodesPart({ exitCodes }) {
  const rows = exitCodes.EXIT_CODE_TABLE.map(({ code, from, meaning }) => [code, from, meaning]);
  return table(['code', 'from', 'meaning'], rows);
}

/**
 * @param {string[]} heading
 * @param {string[][]} rows
 */
function table(heading, rows) {
  return [heading, heading.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``;
}

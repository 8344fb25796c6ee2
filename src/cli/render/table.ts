/** One column of a table: its heading, and whether its cells are figures, which align right. */
export interface Column {
  readonly heading: string;
  readonly align: 'left' | 'right';
}

const SEPARATOR = '  ';

/**
 * The lines of a table, headings first, as wide as its cells need: a terminal wraps what does not
 * fit, and a script cuts columns where the headings begin.
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string[] {
  const lines = [columns.map(({ heading }) => heading), ...rows];
  const widths = columns.map((_, index) =>
    Math.max(...lines.map((cells) => (cells[index] ?? '').length)),
  );
  return lines.map((cells) =>
    columns
      .map(({ align }, index) => pad(cells[index] ?? '', widths[index] ?? 0, align))
      .join(SEPARATOR)
      .trimEnd(),
  );
}

function pad(text: string, width: number, align: Column['align']): string {
  return align === 'right' ? text.padStart(width) : text.padEnd(width);
}

/** Gap between two columns, in spaces. */
const GAP = 2;

/**
 * Rows as lines of text with aligned columns. Spaces at the end of a line are removed.
 * @param rows the first has a cell for each column; every cell is as wide as it has characters
 */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
}

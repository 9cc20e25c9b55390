import { cut, widthOf } from "./text.ts";

export type Tone = "good" | "warn" | "bad" | "dim" | "strong";

/** Part of a line, in one colour. */
export interface Piece {
  readonly text: string;
  readonly tone?: Tone;
}

export type Cell = string | Piece;
export type Line = readonly Cell[];

const COLOURS: Readonly<Record<Tone, string>> = { good: "32", warn: "33", bad: "31", dim: "2", strong: "1" };
/** Columns between two columns of a table. */
const GAP = 2;

/** Rows as lines with aligned columns. The last column is not padded. */
export function table(rows: readonly Line[]): readonly Line[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [n, cell] of row.entries()) widths[n] = Math.max(widths[n] ?? 0, widthOf(textOf(cell)));
  return rows.map((row) =>
    row.flatMap((cell, n): Line => {
      const rest = (widths[n] ?? 0) - widthOf(textOf(cell)) + GAP;
      return n === row.length - 1 ? [cell] : [cell, " ".repeat(rest)];
    }),
  );
}

/** Rows without the columns that are empty in all rows but the first, which has the titles. */
export function withoutEmptyColumns(rows: readonly Line[]): readonly Line[] {
  const [, ...body] = rows;
  return rows.map((row) => row.filter((_, n) => body.some((each) => textOf(each[n]) !== "")));
}

/** @param width columns after which a line is cut @param colour whether the terminal understands colours */
export function render(lines: readonly Line[], width: number, colour: boolean): string {
  return lines.map((line) => `${renderLine(line, width, colour)}\n`).join("");
}

function renderLine(line: Line, width: number, colour: boolean): string {
  let left = width;
  const texts = line.map((cell, n) => {
    const isLast = n === line.length - 1;
    const text = cut(isLast ? textOf(cell).trimEnd() : textOf(cell), Math.max(0, left));
    left -= widthOf(text);
    const tone = typeof cell === "string" ? undefined : cell.tone;
    return colour && tone !== undefined && text !== "" ? `\u001b[${COLOURS[tone]}m${text}\u001b[0m` : text;
  });
  return texts.join("").trimEnd();
}

export function textOf(cell: Cell | undefined): string {
  if (cell === undefined) return "";
  return typeof cell === "string" ? cell : cell.text;
}

import { type ESTree, parseSync } from "vite";

/** A piece of prose and its place. */
export interface Text {
  readonly file: string;
  /** First line of the text, from 1. */
  readonly line: number;
  readonly kind: TextKind;
  /** Text on one line, without the marks of its comment, string or Markdown. */
  readonly text: string;
}

/**
 * Kinds in code are `doc` (text before the tags of a doc comment), `tag` (one of its tags), `comment` and `string`.
 * Adjacent line comments are one comment, and templates are strings. Markdown has `paragraph`, `bullet` and `cell`,
 * and a commit's message `subject`, its first line.
 */
export type TextKind = "doc" | "tag" | "comment" | "string" | "paragraph" | "bullet" | "cell" | "subject";

/** Least words of a string that is prose: shorter ones are names and codes. */
const LEAST_WORDS = 5;

/** Parts of strings that are no prose: expressions, scripts, markup, keys. */
const NOT_PROSE = /&&|\|\||==|=>|\n\s|\bself\.|-----BEGIN|^\s*[{<[]|\$\(|;\s*$/;

/** Comments and strings of a TypeScript or JavaScript file. */
export function textsOfCode(file: string, source: string): readonly Text[] {
  const { comments, program, errors } = parseSync(file, source);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  const lineOf = lineFinder(source);
  const texts: Text[] = [];
  for (const group of adjacent(comments, source)) texts.push(...textsOfComment(file, group, lineOf));
  for (const { text, start } of stringsIn(program)) {
    const oneLine = text.replace(/\s+/g, " ").trim();
    if (NOT_PROSE.test(text) || oneLine.split(" ").length < LEAST_WORDS) continue;
    texts.push({ file, line: lineOf(start), kind: "string", text: oneLine });
  }
  return texts;
}

interface Comment {
  readonly type: "Line" | "Block";
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Joins line comments on consecutive lines into one text. */
function adjacent(comments: readonly Comment[], source: string): readonly Comment[] {
  const groups: Comment[] = [];
  for (const comment of comments) {
    const last = groups.at(-1);
    const between = last === undefined ? "x" : source.slice(last.end, comment.start);
    if (last?.type === "Line" && comment.type === "Line" && /^\n[ \t]*$/.test(between)) {
      groups[groups.length - 1] = { ...last, value: `${last.value}\n${comment.value}`, end: comment.end };
    } else groups.push(comment);
  }
  return groups;
}

function textsOfComment(file: string, comment: Comment, lineOf: (at: number) => number): readonly Text[] {
  const { type, value, start } = comment;
  if (/^\s*(biome-ignore|@ts-|#!|\/ <reference)/.test(value)) return [];
  const line = lineOf(start);
  if (type === "Line" || !value.startsWith("*")) {
    // In comments with questions and indented answers each question begins a text.
    const lines = type === "Block" ? value.replace(/^[ \t]*\*[ \t]?/gm, " ") : value;
    const parts = lines.split(/(?<=\n {2,}\S[^\n]*)\n(?= ?\S)/);
    return parts.flatMap((part) => oneLine(file, line, "comment", part));
  }
  const [doc = "", ...tags] = value
    .slice(1)
    .replace(/^[ \t]*\*[ \t]?/gm, "")
    .split(/(?:^|\s)(?=@(?:param|returns|throws)\b)/);
  return [
    ...oneLine(file, line, "doc", doc),
    ...tags.flatMap((tag) => oneLine(file, line, "tag", tag.replace(/^@(param\s+\S+|returns|throws)/, ""))),
  ];
}

function oneLine(file: string, line: number, kind: TextKind, text: string): readonly Text[] {
  const joined = text.replace(/\s+/g, " ").trim();
  return joined === "" ? [] : [{ file, line, kind, text: joined }];
}

/** All strings and templates below a node; `…` stands for what a template inserts. */
function* stringsIn(node: unknown): Generator<{ text: string; start: number }> {
  if (Array.isArray(node)) {
    for (const each of node) yield* stringsIn(each);
    return;
  }
  if (typeof node !== "object" || node === null || !("type" in node)) return;
  const { type } = node as ESTree.Node;
  if (type === "Literal") {
    const { value, start } = node as ESTree.StringLiteral;
    if (typeof value === "string") yield { text: value, start };
    return;
  }
  if (type === "TemplateLiteral") {
    const { quasis, start } = node as ESTree.TemplateLiteral;
    yield { text: quasis.map(({ value }) => value.cooked ?? value.raw).join("…"), start };
  }
  for (const child of Object.values(node)) yield* stringsIn(child);
}

function lineFinder(source: string): (at: number) => number {
  const starts = [0];
  for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return (at) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

/** Paragraphs, list items and table cells of a Markdown file; headings, code and HTML are left out. */
export function textsOfMarkdown(file: string, source: string): readonly Text[] {
  const texts: Text[] = [];
  let isCode = false;
  let open: { line: number; kind: "paragraph" | "bullet"; lines: string[] } | undefined;
  const close = (): void => {
    if (open !== undefined) texts.push(...oneLine(file, open.line, open.kind, visible(open.lines.join(" "))));
    open = undefined;
  };
  for (const [index, raw] of source.split("\n").entries()) {
    const line = index + 1;
    if (/^\s*```/.test(raw)) {
      isCode = !isCode;
      close();
    } else if (isCode) continue;
    else if (/^\s*$|^#|^\s*<|^-{3,}$/.test(raw)) close();
    else if (/^\s*\|/.test(raw)) {
      close();
      if (/^\s*\|[\s|:-]+$/.test(raw)) continue;
      const cells = raw
        .trim()
        .replace(/^\||\|$/g, "")
        .split(/(?<!\\)\|/);
      texts.push(...cells.flatMap((cell) => oneLine(file, line, "cell", visible(cell))));
    } else if (/^\s*([-*]|\d+\.)\s/.test(raw)) {
      close();
      open = { line, kind: "bullet", lines: [raw.replace(/^\s*([-*]|\d+\.)\s/, "")] };
    } else {
      open ??= { line, kind: "paragraph", lines: [] };
      open.lines.push(raw);
    }
  }
  close();
  return texts;
}

/** Markdown as a reader sees it: links without their targets, no marks of emphasis. */
function visible(markdown: string): string {
  return markdown.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\*\*/g, "");
}

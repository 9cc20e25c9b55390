import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { counted, lowerBudget } from "../../scripts/prose/budget.ts";
import { findingsOf, folderOf } from "../../scripts/prose/repository.ts";
import type { Finding } from "../../scripts/prose/rules.ts";
import { Failure } from "../failure.ts";

const USAGE = `Lists sentences that break the rules of CONTRIBUTING.md, "Words".
It reads comments, strings, test names, Markdown and commit subjects.

  npm run prose -- PATH…               findings in files below PATH, such as src/cluster/rules
  npm run prose -- --changed           findings on lines that differ from the last commit
  npm run prose -- --changed --since REV
                                       findings on lines that differ from this commit
  npm run prose -- --write             lowers the budget of each folder to its number of findings`;

try {
  const { values, positionals } = parse();
  const root = process.cwd();
  if (values.help) console.log(USAGE);
  else if (values.write) write(root);
  else {
    const all = findingsOf(root).filter(
      ({ file }) => positionals.length === 0 || positionals.some((path) => isIn(file, path)),
    );
    show(values.changed ? all.filter(onLines(changedLines(root, values.since))) : all);
  }
} catch (thrown) {
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        changed: { type: "boolean", default: false },
        since: { type: "string", default: "HEAD" },
        write: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
  } catch (thrown) {
    throw new Failure(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
  }
}

function write(root: string): void {
  const over = lowerBudget(root);
  console.log("Written: scripts/prose/budget.json");
  if (over.length > 0)
    throw new Failure(
      `These folders have more findings than allowed: ${over.join(", ")}. List them: npm run prose -- ${over.join(" ")}`,
    );
}

function show(findings: readonly Finding[]): void {
  for (const { file, line, rule, what, text } of findings)
    console.log(`${file}:${line} ${rule} (${what})\n    ${text.length > 200 ? `${text.slice(0, 199)}…` : text}`);
  console.log(counted(findings.length));
}

/** Whether the file is this path, or in this folder of the budget or a folder below it. */
function isIn(file: string, path: string): boolean {
  return file === path || folderOf(file) === path || file.startsWith(`${path.replace(/\/$/, "")}/`);
}

type Lines = ReadonlyMap<string, readonly [first: number, last: number][]>;

/**
 * Finds texts that changed on their first line or shortly after it: a finding knows only the first line of its text.
 */
function onLines(lines: Lines): (finding: Finding) => boolean {
  const reach = 6;
  return ({ file, line }) => (lines.get(file) ?? []).some(([first, last]) => line + reach >= first && line <= last);
}

/** Runs of lines that are new since `since`, by file. Files that git does not track are new as a whole. */
function changedLines(root: string, since: string): Lines {
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, ...args], { encoding: "utf8", maxBuffer: 64 * 1024 ** 2 });
  const lines = new Map<string, [number, number][]>();
  let file = "";
  for (const row of git("diff", "--unified=0", "--no-color", since).split("\n")) {
    if (row.startsWith("+++ b/")) file = row.slice("+++ b/".length);
    const [, first, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(row) ?? [];
    if (first === undefined || count === "0") continue;
    lines.set(file, [...(lines.get(file) ?? []), [Number(first), Number(first) + Number(count) - 1]]);
  }
  for (const name of git("ls-files", "--others", "--exclude-standard").split("\n"))
    lines.set(name, [[1, Number.MAX_SAFE_INTEGER]]);
  return lines;
}

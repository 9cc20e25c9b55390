import { execFileSync } from "node:child_process";

/**
 * Lines below src that differ from a commit, in files that git knows.
 * @param root the repository
 * @returns `FILE:LINE` of each, from the root
 */
export function changedLines(root: string, commit: string): ReadonlySet<string> {
  const args = ["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-prefix", commit, "--", "src"];
  return linesOf(execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 256 * 1024 * 1024 }));
}

/** The new lines of a diff that was made without context and prefixes. */
export function linesOf(diff: string): ReadonlySet<string> {
  const lines = new Set<string>();
  let file = "";
  for (const text of diff.split("\n")) {
    if (text.startsWith("+++ ")) file = text.slice(4);
    const [, first, count = "1"] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(text) ?? [];
    for (let n = 0; first !== undefined && n < Number(count); n++) lines.add(`${file}:${Number(first) + n}`);
  }
  return lines;
}

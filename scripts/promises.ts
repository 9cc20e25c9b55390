import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";

/** The list of all promised names. Generation only adds lines to it. */
export const PROMISES = "docs/reference/promised-names.txt";

/** Pages with promised names, in the first column of their tables. */
const PAGES = ["compatibility", "conditions", "events", "metrics"].map((name) => `docs/reference/${name}.md`);

/**
 * The list with the names of these pages.
 * @param pages content of generated pages, by path @throws Error for a name in the stored list that no page has
 */
export async function promisedNames(root: string, pages: Readonly<Record<string, string>>): Promise<string> {
  const stored = await readFile(join(root, PROMISES), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return ""; // It is absent before the first generation.
    throw error;
  });
  const names = namesIn(pages);
  const lost = lostNames(linesOf(stored), names);
  if (lost.length > 0)
    throw new Error(
      `${PROMISES} promises ${lost.join("; ")}, which no page has any more. Bring the name back: from the first release on it may only be deprecated. Before that, delete its line.`,
    );
  return `${names.join("\n")}\n`;
}

/** Promised names that are missing. */
export function lostNames(promised: readonly string[], names: readonly string[]): readonly string[] {
  const present = new Set(names);
  return promised.filter((name) => !present.has(name));
}

/** Names in code style that begin a row, with page and heading: `events, About an EtcdCluster: RestartMember`. */
export function namesIn(pages: Readonly<Record<string, string>>): readonly string[] {
  const found = PAGES.flatMap((path) => {
    let heading = "";
    return linesOf(pages[path] ?? "").flatMap((line) => {
      if (line.startsWith("## ")) heading = `, ${line.slice(3)}`;
      const [, name] = /^\| `([^`]+)` \|/.exec(line) ?? [];
      return name === undefined ? [] : [`${basename(path, ".md")}${heading}: ${name}`];
    });
  });
  return [...new Set(found)].sort();
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { page } from "./pages.ts";

/** List of the decisions in docs/adr, by number. @throws Error when a file has no heading */
export async function decisionsPage(root: string): Promise<string> {
  const folder = join(root, "docs/adr");
  const files = (await readdir(folder)).filter((name) => /^\d+-.*\.md$/.test(name)).sort();
  const lines = files.map(async (name) => {
    const title = /^# (.+)/.exec(await readFile(join(folder, name), "utf8"))?.[1];
    if (title === undefined) throw new Error(`docs/adr/${name} does not begin with a heading.`);
    return `- [${title}](${name})`;
  });
  return page(
    "Decisions",
    "Decisions that were not obvious: what was decided, why, what it costs, and what was not chosen.",
    (await Promise.all(lines)).join("\n"),
  );
}

import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Files of the repository that are pages of the site, with their paths there, by path from the root. */
export function sitePages(root: string): Readonly<Record<string, string>> {
  const at = (pattern: string) => globSync(pattern, { cwd: root }).sort();
  return {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    ...Object.fromEntries(at("{CHANGELOG,SECURITY}.md").map((path) => [path, path.toLowerCase()])),
    ...Object.fromEntries(at("docs/**/*.md").map((path) => [path, indexed(path.replace("docs/", ""))])),
    ...Object.fromEntries(at("src/*/README.md").map((path) => [path, `packages/${path.split("/")[1]}.md`])),
  };
}

/** The page of a folder is its index. */
function indexed(path: string): string {
  return path.replace(/(^|\/)README\.md$/, "$1index.md");
}

/** What a relative link of a page leads to. */
export type Target =
  | { readonly kind: "page"; readonly href: string }
  /** A file that is no page, such as an example or source code: the site serves its text. */
  | { readonly kind: "file"; readonly href: string; readonly path: string }
  /** A folder without a page: the site serves a list of its files. */
  | { readonly kind: "folder"; readonly href: string; readonly path: string };

/**
 * Leads a link that is right in the repository to the same thing on the site.
 * @param from path of the file with the link, from the root
 * @returns undefined for links to other sites and within the page
 * @throws Error when there is no such file
 */
export function targetOf(
  root: string,
  pages: Readonly<Record<string, string>>,
  from: string,
  href: string,
): Target | undefined {
  if (/^([a-z]+:|#|\/)/.test(href)) return undefined;
  const [file = "", anchor] = href.split("#");
  const path = normalize(join(dirname(from), decodeURI(file))).replace(/\/$/, "");
  const page = pages[path] ?? pages[join(path, "README.md")];
  if (page !== undefined) return { kind: "page", href: `/${page}${anchor === undefined ? "" : `#${anchor}`}` };
  if (path.startsWith("..") || !existsSync(join(root, path)))
    throw new Error(`${from} links to ${href}, but there is no file ${path}.`);
  if (statSync(join(root, path)).isDirectory()) return { kind: "folder", href: `/files/${path}/index.txt`, path };
  return { kind: "file", href: `/files/${path}.txt`, path };
}

/** The first heading of a page. @throws Error when it has none */
export function titleOf(root: string, path: string): string {
  const title = /^# (.+)$/m.exec(readFileSync(join(root, path), "utf8"))?.[1];
  if (title === undefined) throw new Error(`${path} has no heading of the first level.`);
  return title.replaceAll("`", "");
}

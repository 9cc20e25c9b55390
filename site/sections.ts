import { titleOf } from "./pages.ts";

/** A section of the side bar, and the pages in it, by path in the repository. */
interface Section {
  readonly title: string;
  readonly pages: readonly string[];
  /** Shown closed at first: it has many pages. */
  readonly closed?: true;
}

const named = (...names: readonly string[]) => names.map((name) => `docs/${name}.md`);

/** Pages in their order. A page of `docs` that no line names is in "More". */
export function sections(all: readonly string[]): readonly Section[] {
  const below = (folder: string) => all.filter((path) => path.startsWith(`docs/${folder}/`));
  const listed: readonly Section[] = [
    { title: "Start", pages: ["README.md", ...named("install", "connect")] },
    {
      title: "Tasks",
      pages: named("tls", "users", "change", "backup", "object-stores", "restore", "fleets", "kubectl", "monitoring"),
    },
    { title: "When something fails", pages: named("when-something-fails", "troubleshooting") },
    { title: "Runbooks", pages: ["docs/runbooks.md", ...below("runbooks")], closed: true },
    { title: "Move here", pages: named("move-here") },
    { title: "Reference", pages: below("reference"), closed: true },
    {
      title: "Security and limits",
      pages: ["SECURITY.md", ...named("limits", "permissions", "threat-model", "input-bounds", "performance")],
    },
    { title: "Decisions", pages: below("adr"), closed: true },
    {
      title: "The code",
      pages: ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", ...named("glossary", "releasing")],
    },
  ];
  const known = new Set(listed.flatMap(({ pages }) => pages));
  const rest = all.filter((path) => path.startsWith("docs/") && !known.has(path));
  return [...listed, { title: "More", pages: rest }]
    .map((section) => ({ ...section, pages: section.pages.filter((path) => all.includes(path)) }))
    .filter(({ pages }) => pages.length > 0);
}

/** Text of a page in the side bar. */
export function textOf(root: string, path: string): string {
  return path === "README.md" ? "Start in five minutes" : titleOf(root, path);
}

import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { sitePages, targetOf } from "../../site/pages.ts";
import { sections } from "../../site/sections.ts";

// Links of the pages, as a Git forge and the site follow them: each leads to a file, and to a heading of it.

const ROOT = process.cwd();
const pages = sitePages(ROOT);

/** A page without its code, in which brackets and `#` mean other things. */
function prose(path: string): string {
  return readFileSync(path, "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
}

/** Anchors of a page: those of its headings, as GitHub forms them, and those that it states itself. */
function anchorsOf(path: string): ReadonlySet<string> {
  const text = prose(path);
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map((match) => match[1] ?? ""));
  for (const [, heading = ""] of text.matchAll(/^#+ (.+)$/gm)) {
    const slug = slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", ""));
    let free = slug;
    for (let count = 1; anchors.has(free); count++) free = `${slug}-${count}`;
    anchors.add(free);
  }
  return anchors;
}

function slugOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-"); // biome-ignore format: a line
}

function linksOf(path: string): readonly string[] {
  const text = prose(path).replaceAll(/`[^`\n]*`/g, "code");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");
}

describe.each(Object.keys(pages))("%s", (page) => {
  test("links to files and headings that exist", () => {
    const dead = linksOf(page).filter((link) => {
      targetOf(ROOT, pages, page, link); // throws for a file that does not exist
      const [file = "", anchor] = link.split("#");
      if (anchor === undefined || /^[a-z]+:/.test(link)) return false;
      const path = file === "" ? page : normalize(join(dirname(page), file));
      return path.endsWith(".md") && !anchorsOf(path).has(anchor);
    });
    expect(dead).toEqual([]);
  });
});

test("a link to a missing file or folder is refused", () => {
  expect(() => targetOf(ROOT, pages, "docs/tls.md", "missing.md")).toThrow(
    "docs/tls.md links to missing.md, but there is no file docs/missing.md.",
  );
  expect(() => targetOf(ROOT, pages, "docs/tls.md", "../src/cluster/tls")).toThrow("there is no file src/cluster/tls");
});

test("links lead to pages of the site, to the text of a file, or to the list of a folder", () => {
  expect(targetOf(ROOT, pages, "docs/tls.md", "limits.md#tls")).toEqual({ kind: "page", href: "/limits.md#tls" });
  expect(targetOf(ROOT, pages, "ARCHITECTURE.md", "docs/adr")).toEqual({ kind: "page", href: "/adr/index.md" });
  expect(targetOf(ROOT, pages, "docs/tls.md", "../examples")).toMatchObject({ kind: "folder", href: "/files/examples/index.txt" }); // biome-ignore format: a line
  const path = "examples/tls.yaml";
  expect(targetOf(ROOT, pages, "docs/tls.md", "../examples/tls.yaml")).toEqual({ kind: "file", href: `/files/${path}.txt`, path }); // biome-ignore format: a line
});

test("every page of docs is in exactly one section", () => {
  const listed = sections(Object.keys(pages)).flatMap(({ title, pages: of }) => of.map((path) => ({ title, path })));
  expect(listed.map(({ path }) => path).sort()).toEqual(Object.keys(pages).filter((path) => !path.startsWith("src/")).sort()); // biome-ignore format: a line
});

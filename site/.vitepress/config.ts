import { cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { slug } from "github-slugger";
import type { MarkdownRenderer } from "vitepress";
import { defineConfig } from "vitepress";
import { sitePages, targetOf } from "../pages.ts";
import { sections, textOf } from "../sections.ts";

const SITE = dirname(import.meta.dirname);
const ROOT = dirname(SITE);
/** Copies of the repository's pages, made at each build: VitePress finds vue only from within this folder. */
const COPIES = join(SITE, ".pages");
const PAGES = sitePages(ROOT);
const SOURCES = Object.fromEntries(Object.entries(PAGES).map(([source, page]) => [page, source]));
const { description } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

rmSync(COPIES, { recursive: true, force: true });
for (const [source, page] of Object.entries(PAGES)) cpSync(join(ROOT, source), join(COPIES, page));

/** Files that are no pages, and that pages link to, by path from the root. */
const files = new Set<string>();

/** Links of the repository are led to the pages of the site. */
function siteLinks(md: MarkdownRenderer): void {
  md.core.ruler.push("site-links", ({ tokens, env }) => {
    const from = SOURCES[relative(COPIES, env.path)];
    if (from === undefined) throw new Error(`${env.path} is no copy of a page.`);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== "link_open") continue;
      const target = targetOf(ROOT, PAGES, from, token.attrGet("href") ?? "");
      if (target === undefined) continue;
      token.attrSet("href", target.href);
      if (target.kind === "page") continue;
      files.add(target.path);
      token.attrSet("target", "_blank"); // the site's router knows pages only
    }
  });
}

/** Pages are text alone: Vue must not read braces such as those of Go templates as expressions. */
function withoutVue({ renderer }: MarkdownRenderer): void {
  const render = renderer.render.bind(renderer);
  renderer.render = (...given) => `<div v-pre>${render(...given)}</div>`;
}

/** Writes the list of a folder's files. */
function listFolder(outDir: string, path: string): void {
  const entries = globSync("**/*", { cwd: join(ROOT, path), withFileTypes: true }).filter((entry) => entry.isFile());
  const names = entries.map((entry) => relative(ROOT, join(entry.parentPath, entry.name))).sort();
  mkdirSync(join(outDir, "files", path), { recursive: true });
  writeFileSync(join(outDir, "files", path, "index.txt"), names.map((name) => `${name}\n`).join(""));
}

export default defineConfig({
  title: "etcd-cluster-operator",
  description,
  srcDir: COPIES,
  outDir: join(SITE, "dist"),
  cacheDir: join(SITE, "node_modules", ".vitepress"),
  base: process.env.SITE_BASE ?? "/",
  markdown: {
    anchor: { slugify: slug }, // as on a Git forge, so that a link is right in both places
    config(md) {
      siteLinks(md);
      withoutVue(md);
    },
  },
  themeConfig: {
    nav: [
      { text: "Install", link: "/install" },
      { text: "When something fails", link: "/when-something-fails" },
      { text: "Reference", link: "/reference/etcdcluster" },
    ],
    sidebar: sections(Object.keys(PAGES)).map(({ title, pages, closed = false }) => ({
      text: title,
      collapsed: closed,
      items: pages.map((path) => ({
        text: textOf(ROOT, path),
        link: `/${PAGES[path]?.replace(/(index)?\.md$/, "")}`,
      })),
    })),
    outline: [2, 3],
    search: { provider: "local" },
  },
  buildEnd({ outDir }) {
    for (const path of files) {
      if (statSync(join(ROOT, path)).isDirectory()) listFolder(outDir, path);
      else cpSync(join(ROOT, path), join(outDir, "files", `${path}.txt`));
    }
  },
});

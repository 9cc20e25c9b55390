import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { blocksOf, scriptOf } from "#kit/pages/blocks.ts";
import { PAGES } from "#kit/pages/pages.ts";

const files = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", ...globSync("docs/**/*.md")];
const all = files.flatMap((path) => blocksOf(readFileSync(path, "utf8")).map((block) => ({ path, ...block })));

/** The most blocks that may stay untested: a reader could not rely on pages with more. */
const MOST_UNTESTED = 10;

describe("blocks of the pages", () => {
  test.each(files)("%s: each block runs in the end-to-end tests, or has the reason why not", (path) => {
    const here = all.filter((block) => block.path === path);
    const run = here.filter(({ untested }) => untested === undefined);
    if (run.length > 0) expect(Object.keys(PAGES), `add it to test/kit/pages/pages.ts: ${path}`).toContain(path);
    for (const { untested } of here) if (untested !== undefined) expect(untested).toMatch(/^\w+(-\w+)+$/);
  });

  test(`at most ${MOST_UNTESTED} blocks are not run`, () => {
    const untested = all.filter((block) => block.untested !== undefined).map(({ path, line }) => `${path}:${line}`);
    expect(untested.length, untested.join(", ")).toBeLessThanOrEqual(MOST_UNTESTED);
  });

  test("each page that the tests run has a block to run", () => {
    const run = new Set(all.filter(({ untested }) => untested === undefined).map(({ path }) => path));
    expect(Object.keys(PAGES).filter((path) => !run.has(path))).toEqual([]);
  });
});

const PAGE = `# Page

\`\`\`sh
A=1
\`\`\`

\`\`\`yaml
kind: Shown
\`\`\`

\`\`\`yaml apply
kind: Applied
\`\`\`

- in a list:

  \`\`\`sh untested=needs-a-cloud
  cloud $A
  \`\`\`
`;

test("blocks are read with their lines and reasons; yaml is run only when the page asks to apply it", () => {
  expect(blocksOf(PAGE)).toEqual([
    { kind: "sh", line: 4, text: "A=1\n" },
    { kind: "yaml", line: 12, text: "kind: Applied\n" },
    { kind: "sh", line: 18, text: "  cloud $A\n", untested: "needs-a-cloud" },
  ]);
  const script = scriptOf(blocksOf(PAGE));
  expect(script).toContain('echo "--- block of line 4"\nA=1\n');
  expect(script).toContain("kubectl apply -f - <<'END-OF-YAML'\nkind: Applied\nEND-OF-YAML\n");
  expect(script).not.toContain("cloud");
});

test("the script waits after a port-forward until its port is open", () => {
  const script = scriptOf(blocksOf("```sh\nkubectl port-forward service/a 12379:2379 &\netcdctl member list\n```\n"));
  expect(script).toMatch(/12379:2379 &\nfor .*\/dev\/tcp\/localhost\/12379\).*; done\netcdctl/);
});

test("a block without an end is an error", () => {
  expect(() => blocksOf("```sh\nA=1\n")).toThrow("The block that begins in line 1 has no end.");
});

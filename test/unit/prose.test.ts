import { expect, test } from "vitest";
import { lowered, problems } from "../../scripts/prose/budget.ts";
import { folderOf } from "../../scripts/prose/repository.ts";
import { findingsIn } from "../../scripts/prose/rules.ts";
import { type Text, textsOfCode, textsOfMarkdown } from "../../scripts/prose/texts.ts";

const kindsAndTexts = (texts: readonly Text[]) => texts.map(({ line, kind, text }) => `${line} ${kind}: ${text}`);

test("prose: comments and strings of code are extracted without comment marks and quotes", () => {
  const source = `
/**
 * Members of the list.
 * Learners are in it.
 * @param list as etcd sends it
 */
// First line,
// second line.
const a = "a sentence of five words"; // After code.

// Another comment.
const b = \`member \${name} has lost its volume\`;
const c = "three words only";
const d = "self.a == self.b && self.c != self.d";
`;
  expect(kindsAndTexts(textsOfCode("a.ts", source))).toEqual([
    "2 doc: Members of the list. Learners are in it.",
    "2 tag: as etcd sends it",
    "7 comment: First line, second line.",
    "9 comment: After code.",
    "11 comment: Another comment.",
    "9 string: a sentence of five words",
    "12 string: member … has lost its volume",
  ]);
});

test("prose: a comment with questions is split into its questions and answers", () => {
  const source = "// Why a budget?\n//   The standard is younger\n//   than the texts.\n// Why per folder?\n";
  expect(kindsAndTexts(textsOfCode("a.ts", source))).toEqual([
    "1 comment: Why a budget? The standard is younger than the texts.",
    "1 comment: Why per folder?",
  ]);
});

test("prose: paragraphs, list items and table cells of Markdown are extracted, code and headings are not", () => {
  const source = `# Title

A [link](https://example.org/long) and
a second line.

- an item
  that goes on
- **bold** item

| head | of a table |
| --- | --- |
| one | two |

\`\`\`sh
npm test
\`\`\`
`;
  expect(kindsAndTexts(textsOfMarkdown("a.md", source))).toEqual([
    "3 paragraph: A link and a second line.",
    "6 bullet: an item that goes on",
    "8 bullet: bold item",
    "10 cell: head",
    "10 cell: of a table",
    "12 cell: one",
    "12 cell: two",
  ]);
});

const rulesCases: { text: string; kind?: Text["kind"]; expect: readonly string[] }[] = [
  { text: "Remove the least healthy member first.", expect: [] },
  { text: "Who is worth least goes first.", expect: ["person Who", "banned-word goes"] },
  { text: "The flag `whoever` is code.", expect: [] },
  { text: "Of a look because it is time.", kind: "doc", expect: ["first-word Of"] },
  { text: "Of a look because it is time.", kind: "comment", expect: [] },
  { text: `${"word ".repeat(25)}word.`, expect: ["long-sentence 26 words"] },
  { text: `${"word ".repeat(24)}word. And one more.`, expect: [] },
  { text: "One. Two. Three. Four.", kind: "doc", expect: ["long-doc 4 sentences"] },
  { text: "One. Two. Three.", kind: "doc", expect: [] },
  { text: "x".repeat(161), kind: "cell", expect: ["too-long 161 characters"] },
  { text: "x".repeat(160), kind: "cell", expect: [] },
  { text: "x".repeat(241), kind: "bullet", expect: ["too-long 241 characters"] },
  { text: "x".repeat(601), kind: "paragraph", expect: ["too-long 601 characters"] },
  { text: "cluster: renew certificates during a pause", kind: "subject", expect: [] },
  { text: "What is renewed in a pause is said", kind: "subject", expect: ["subject 34 characters"] },
  { text: `cluster: ${"x".repeat(64)}`, kind: "subject", expect: ["subject 73 characters"] },
];
test.each(rulesCases)(
  "prose: the rules give the expected findings for %o",
  ({ text, kind = "string", expect: expected }) => {
    const findings = findingsIn({ file: "a.ts", line: 1, kind, text });
    expect(findings.map(({ rule, what }) => `${rule} ${what}`)).toEqual(expected);
  },
);

test("prose: findings are counted by folder, at most three levels deep", () => {
  expect(["src/cluster/rules/healing/a.ts", "src/base/b.ts", "README.md"].map(folderOf)).toEqual([
    "src/cluster/rules",
    "src/base",
    ".",
  ]);
});

test("prose: a folder fails with more findings than its budget, and with fewer until the budget is lowered", () => {
  expect(problems({ a: 1, b: 2, c: 3 }, { a: 1, b: 3, c: 2, d: 1 })).toEqual([
    expect.stringMatching(/^b has 3 findings and may have 2; list them/),
    expect.stringMatching(/^c has 2 findings and may have 3; lower it/),
    expect.stringMatching(/^d has 1 finding and may have 0; list them/),
  ]);
});

test("prose: updating the budget lowers entries and never raises them", () => {
  expect(lowered({ a: 1, b: 2, c: 3 }, { a: 0, b: 9, c: 2, d: 1 })).toEqual({ b: 2, c: 2 });
});

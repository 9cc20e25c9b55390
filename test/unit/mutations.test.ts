import { expect, test } from "vitest";
import { linesOf } from "../mutation/changed-lines.ts";
import { mutated, SWITCH } from "../mutation/mutations.ts";
import { narrowed } from "../mutation/noticed.ts";

/** The mutations of a source, in words. */
function told(source: string): readonly string[] {
  return mutated("a.ts", source, 0).mutations.map(({ within, from, to }) => `${within}: ${from} -> ${to}`);
}

const cases: { name: string; source: string; expect: readonly string[] }[] = [
  {
    name: "a condition is replaced by true and by false",
    source: "const a = (b: C) => { if (b.c) d(); };",
    expect: ["a: { … } -> { return undefined; … }", "a: b.c -> true", "a: b.c -> false", "a: d() -> undefined"],
  },
  {
    name: "each clause of a condition is left out, and the condition is replaced by false",
    source: "const a = b === 1 && c && d;",
    expect: [
      "a: b === 1 && c && d -> c && d",
      "a: b === 1 && c && d -> b === 1 && d",
      "a: b === 1 && c && d -> b === 1 && c",
      "a: b === 1 && c && d -> false",
      "a: 1 -> 2",
      "a: 1 -> 0",
    ],
  },
  {
    name: "a strict comparison becomes inclusive, and its bound is doubled and halved",
    source: "const a = b < 1_000;",
    expect: [
      "a: b < 1_000 -> true",
      "a: b < 1_000 -> false",
      "a: b < 1_000 -> b <= 1_000",
      "a: 1_000 -> 2000",
      "a: 1_000 -> 500",
    ],
  },
  {
    name: "a filter is left out, and its condition is replaced by true and by false",
    source: "const a = b.filter((c) => c.d);",
    expect: ["a: .filter((c) => c.d) -> left out", "a: c.d -> true", "a: c.d -> false"],
  },
  {
    name: "a sort is left out and reversed",
    source: "const a = b.sort(c);",
    expect: ["a: .sort(c) -> left out", "a: .sort(c) -> the other way round"],
  },
  {
    name: "a case of a switch is left out",
    source: 'function f(s: S) { switch (s) { case "x": return 1; default: return g; } }',
    expect: ["f: { … } -> { return undefined; … }", 'f: case "x" -> left out', "f: 1 -> 2", "f: 1 -> 0"],
  },
  {
    name: "items of a list of rules are left out and swapped, items of other lists only left out",
    source: "const A_RULES = [b, c]; const d = [e, f];",
    expect: [
      "A_RULES: b -> left out of the list",
      "A_RULES: c -> left out of the list",
      "A_RULES: b, c -> c, b",
      "d: e -> left out of the list",
      "d: f -> left out of the list",
    ],
  },
  {
    name: "a value with a default is replaced by the default",
    source: "const a = b ?? c;",
    expect: ["a: b ?? c -> c"],
  },
  {
    name: "messages, types and recheck intervals are not mutated",
    source: `const because = a ? b : c; const d = \`e \${f === g}\`; const RECHECK_MS = 5; type T = 1 | 2; const h = wait(i, 7); const j = k?.filter(l).m;`,
    expect: [],
  },
];

test("mutations: a method of every object, such as toString, is not mutated as a list method", () => {
  expect(told("const a = b.toString();").filter((words) => words.includes("native code"))).toEqual([]);
});

test.each(cases)("mutations: $name", ({ source, expect: expected }) => {
  expect(told(source)).toEqual(expected);
});

const source = `
  const rank = (list: readonly number[], least = 3) => {
    const large = list.filter((each) => each > least || each === 0);
    return large.length > 0 ? [...large].sort((a, b) => a - b).map((each) => each + 1) : (list[0] ?? 9);
  };
  return [rank([5, 1, 4, 0]), rank([1]), rank([]), rank([2, 1], 1)];`;

/** The result of the mutated source while the mutation with this number is active. */
function given(text: string, active: number): unknown {
  const plain = text.replace(": readonly number[]", "").replaceAll("as never", "");
  try {
    return new Function(SWITCH, plain)((id: number) => id === active);
  } catch (thrown) {
    return String(thrown);
  }
}

test("mutations: the source is unchanged while none is active, and each active one has its described effect", () => {
  const { text, mutations } = mutated("a.ts", `function all() {${source}}`, 0);
  const body = `${text} return all();`;
  expect(given(body, -1)).toEqual([[1, 5, 6], 1, 9, [3]]);
  const outcomes = new Map(mutations.map(({ from, to }, id) => [`${from} -> ${to}`, given(body, id)]));
  expect(outcomes.get("each > least -> each >= least")).toEqual([[1, 5, 6], 1, 9, [2, 3]]);
  expect(outcomes.get("3 -> 4")).toEqual([[1, 6], 1, 9, [3]]);
  expect(outcomes.get(".sort((a, b) => a - b) -> the other way round")).toEqual([[6, 5, 1], 1, 9, [3]]);
  expect(outcomes.get("list[0] ?? 9 -> 9")).toEqual([[1, 5, 6], 9, 9, [3]]);
  expect(outcomes.get("large.length > 0 -> false")).toEqual([5, 1, 9, 2]);
  expect(outcomes.get(".filter((each) => each > least || each === 0) -> left out")).toEqual([
    [1, 2, 5, 6],
    [2],
    9,
    [2, 3],
  ]);
});

test("mutations: each one provides the text of the file with only this mutation", () => {
  const { mutations } = mutated("a.ts", "const a = b && c;\n", 0);
  expect(mutations.map(({ alone }) => alone)).toEqual(["const a = (c);\n", "const a = (b);\n", "const a = (false);\n"]);
});

test("mutations: the numbered shares of a part together cover the whole part", () => {
  const parts = ["1/3", "2/3", "3/3"].flatMap((text) => [0, 1].map((part) => narrowed({ part, of: 2 }, text)));
  expect(parts.map(({ of }) => of)).toEqual([6, 6, 6, 6, 6, 6]);
  expect(parts.map(({ part }) => part).sort()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(narrowed({ part: 1, of: 2 }, "1/1")).toEqual({ part: 1, of: 2 });
  for (const text of ["0/3", "4/3", "1", "", "a/b"]) expect(() => narrowed({ part: 0, of: 1 }, text)).toThrow(text);
});

test("the changed lines of a diff without context: added ones, none for a deletion or a deleted file", () => {
  const diff = [
    ...["--- src/a.ts", "+++ src/a.ts", "@@ -3 +3,2 @@ function a() {", "-x", "+y", "+z", "@@ -9,2 +10,0 @@", "-b"],
    ...[
      "--- src/gone.ts",
      "+++ /dev/null",
      "@@ -1 +0,0 @@",
      "-c",
      "--- /dev/null",
      "+++ src/new.ts",
      "@@ -0,0 +1 @@",
      "+d",
    ],
  ].join("\n");
  expect([...linesOf(diff)]).toEqual(["src/a.ts:3", "src/a.ts:4", "src/new.ts:1"]);
});

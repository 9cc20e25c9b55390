import { expect, test } from "vitest";
import { samplesIn } from "./metrics-text.ts";

const names = new Set(["a_bucket", "b"]);
const read = (text: string) =>
  samplesIn(text, names).map(({ name, labels, value }) => [name, Object.fromEntries(labels), value]);

test.each<[string, string, unknown[]]>([
  ["a plain sample", "b 1", [["b", {}, 1]]],
  ["a time after the value", "b 1 1700000000000", [["b", {}, 1]]],
  ["tabs and the line end of Windows", "b\t1\r\n", [["b", {}, 1]]],
  ["a value in scientific notation", "b 1.5e+03", [["b", {}, 1_500]]],
  ["labels", 'a_bucket{To="f",le="+Inf"} 7', [["a_bucket", { To: "f", le: "+Inf" }, 7]]],
  ["a comma after the last label", 'a_bucket{le="1",} 7', [["a_bucket", { le: "1" }, 7]]],
  ["no labels in braces", "b{} 7", [["b", {}, 7]]],
  ["braces, commas and spaces in a label", 'b{x="} 9, y=",z=" "} 7', [["b", { x: "} 9, y=", z: " " }, 7]]],
  ["escapes in a label", String.raw`b{x="\"\\\n\q"} 7`, [["b", { x: '"\\\n\\q' }, 7]]],
  ["a label that is called like a method", 'b{__proto__="x"} 7', [["b", Object.fromEntries([["__proto__", "x"]]), 7]]],
  [
    "the last line without its end",
    "b 1\nb 2",
    [
      ["b", {}, 1],
      ["b", {}, 2],
    ],
  ],
])("%s is read", (_, text, expected) => {
  expect(read(text)).toEqual(expected);
});

test.each([
  ["a comment", "# TYPE b counter"],
  ["another metric", "c 1"],
  ["a metric with a longer name", "b_total 1"],
  ["NaN", "b NaN"],
  ["+Inf", "b +Inf"],
  ["an infinite number of digits", `b 1e999`],
  ["a negative value", "b -1"],
  ["a hexadecimal value", "b 0x1g"],
  ["no value", "b "],
  ["a text as a value", "b one"],
  ["an open brace", 'b{x="1" 7'],
  ["an open quote", 'b{x="1} 7'],
  ["an escaped closing quote", String.raw`b{x="1\"} 7`],
  ["a label without a value", "b{x} 7"],
  ["two labels without a comma", 'b{x="1"y="2"} 7'],
  ["a line that is too long", `b{x="${"y".repeat(4_096)}"} 7`],
  ["nothing", ""],
])("%s is left out, and the next line is read", (_, line) => {
  expect(read(`${line}\nb 5\n`)).toEqual([["b", {}, 5]]);
});

test("a text without end is read in a moment, and not all of it is kept", () => {
  const texts = [
    "b 1\n".repeat(1_000_000),
    "\n".repeat(4_000_000),
    "b{".repeat(2_000_000),
    `${'b{x="'.padEnd(4_000, "\\")}\n`.repeat(1_000),
    `${"b{} ".padEnd(4_000, " }")}\n`.repeat(1_000),
    `${'b{x="1",'.padEnd(4_000, " ")}\n`.repeat(1_000),
  ];
  for (const text of texts) {
    const startMs = performance.now();
    expect(samplesIn(text, names).length).toBeLessThanOrEqual(2_000);
    expect(performance.now() - startMs).toBeLessThan(2_000);
  }
});

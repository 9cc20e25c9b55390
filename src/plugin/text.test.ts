import { expect, test } from "vitest";
import { parse } from "yaml";
import { clockText, leftText, lengthText } from "./age.ts";
import { render, table } from "./lines.ts";
import { clean, cut, safeJson, widthOf, wrapped } from "./text.ts";
import { safeYaml } from "./yaml.ts";

test.each([
  ["escape sequences", "a\u001b[31mb", "a [31mb"],
  ["line breaks and tabs", " a\r\n\tb ", "a b"],
  ["characters that change the direction", "a\u202eb", "a b"],
  ["no text", { a: 1 }, ""],
  ["a number", 7, "7"],
])("clean: %s", (_, value, text) => {
  expect(clean(value)).toBe(text);
});

test("a text is cut after so many columns, with wide characters as two", () => {
  expect(cut("abcdef", 6)).toBe("abcdef");
  expect(cut("abcdefg", 6)).toBe("abcde…");
  expect(cut("界界界", 5)).toBe("界界…");
  expect(widthOf("界a")).toBe(3);
  expect(cut("abc", 0)).toBe("");
});

test("a text is wrapped at spaces", () => {
  expect(wrapped("one two three", 8)).toEqual(["one two", "three"]);
  expect(wrapped("overlong", 5)).toEqual(["over…"]);
});

test("json escapes what a terminal obeys, and stays the same value", () => {
  const value = { a: "\u001b\u009b\u202e\u2028\ud800x\n" };
  expect(safeJson(value)).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  expect(JSON.parse(safeJson(value))).toEqual(value);
});

test("colour codes take no columns, and each cell ends its own", () => {
  const lines = table([
    ["a", { text: "bad", tone: "bad" }, "z"],
    ["long", { text: "b", tone: "good" }, "z"],
  ]);
  expect(render(lines, 80, false)).toBe("a     bad  z\nlong  b    z\n");
  expect(render(lines, 80, true)).toContain("\u001b[31mbad\u001b[0m");
  expect(render(lines, 8, true)).toBe("a     \u001b[31mb…\u001b[0m\nlong  \u001b[32mb\u001b[0m…\n");
});

test("a table may have more rows than a call has arguments", () => {
  expect(table(Array.from({ length: 200_000 }, () => ["a", "b"]))).toHaveLength(200_000);
});

test("json and yaml escape what a terminal could obey, and keep the value", async () => {
  const value = { "a\u202eb": "x\u001b[2J\u{e0001}y", long: "word ".repeat(50), lines: "1\n2\n" };
  const [json, yaml] = [safeJson(value), await safeYaml(value)];
  for (const text of [json, yaml]) expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  expect(JSON.parse(json)).toEqual(value);
  expect(parse(yaml)).toEqual(value);
});

test("lengths of time have one unit", () => {
  const texts = [0, 119, 120, 7_199, 7_200, 172_799, 172_800, 729 * 86_400, 730 * 86_400, -5];
  expect(texts.map((seconds) => lengthText(seconds * 1000))).toEqual([
    "0 s",
    "119 s",
    "2 min",
    "119 min",
    "2 h",
    "47 h",
    "2 d",
    "729 d",
    "2.0 y",
    "0 s",
  ]);
});

test("times have a date only on other days, and the end of a certificate may have passed", () => {
  const nowMs = Date.parse("2026-01-01T12:00:00Z");
  expect(clockText("2026-01-01T03:00:00Z", nowMs)).toBe("03:00");
  expect(clockText("2026-01-02T03:00:00Z", nowMs)).toBe("2026-01-02 03:00");
  expect(clockText("nonsense", nowMs)).toBe("");
  expect(leftText("2026-01-01T13:00:00Z", nowMs)).toBe("60 min");
  expect(leftText("2026-01-01T11:00:00Z", nowMs)).toBe("ended 60 min ago");
});

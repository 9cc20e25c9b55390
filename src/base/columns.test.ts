import { expect, test } from "vitest";
import { columns } from "#base/columns.ts";

test("columns: each is as wide as its longest cell, and two spaces are between columns", () => {
  expect(
    columns([
      ["NAME", "STATE", "OBJECT"],
      ["a", "unreadable", "folder/a b"],
    ]),
  ).toEqual([
    "NAME  STATE       OBJECT", //
    "a     unreadable  folder/a b",
  ]);
});

test("columns: no line ends with spaces, and a row may have fewer cells than the first", () => {
  const rows = [["NAME", "STATE"], ["a", ""], ["longer"]];
  expect(columns(rows)).toEqual(["NAME    STATE", "a", "longer"]);
});

test("columns: no rows are no lines", () => {
  expect(columns([])).toEqual([]);
});

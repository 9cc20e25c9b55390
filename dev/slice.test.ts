import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { run } from "./run.ts";
import { buildsFor, currentCommit, readChapters, sliceOf } from "./slice.ts";

const ROOT = join(import.meta.dirname, "..");
const chapters = readChapters(ROOT);

test("slice: every long test belongs to exactly one chapter", () => {
  const files = readdirSync(join(ROOT, "test", "long"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".test.ts"),
  );
  expect(Object.keys(chapters).sort()).toEqual(files.sort());
});

test("slice: the commit's hash selects the first chapter, and the following chapters are added while they fit", () => {
  const four = { a: 5, b: 7, c: 4, d: 1 };
  const hash = (number: number) => number.toString(16).padStart(8, "0").padEnd(40, "f");
  expect([0, 1, 2, 3, 4].map((number) => sliceOf(four, hash(number), 12))).toEqual([
    ["a", "b"],
    ["b", "c", "d"],
    ["c", "d", "a"],
    ["d", "a"],
    ["a", "b"],
  ]);
  expect(sliceOf(four, hash(0), 100)).toEqual(["a", "b", "c", "d"]);
});

test("slice: a chapter that is longer than a slice runs alone", () => {
  expect(sliceOf({ a: 15, b: 1 }, "0".repeat(40), 10)).toEqual(["a"]);
});

test("slice: a chapter of more than 15 minutes is in no slice", () => {
  for (const commit of ["00000000", "00000001"]) expect(sliceOf({ a: 16, b: 1 }, commit, 100)).toEqual(["b"]);
});

test("slice: every chapter of at most 15 minutes comes first for some commit", () => {
  const names = Object.keys(chapters).filter((name) => (chapters[name] ?? 0) <= 15);
  expect(names.length).toBeGreaterThan(30);
  expect(names.map((_, number) => sliceOf(chapters, number.toString(16).padStart(8, "0"))[0])).toEqual(names);
});

test("slice: a component of a single chapter is built only when the chapter runs", () => {
  expect(buildsFor(ROOT, ["test/long/cert-manager.test.ts"])).toEqual(["cert-manager"]);
  expect(buildsFor(ROOT, ["cert-manager", "-t", "renewed"])).toEqual(["cert-manager"]);
  expect(buildsFor(ROOT, ["backups", "-t", "cert-manager"])).toEqual(["azurite", "fake-gcs-server", "versitygw"]);
  expect(buildsFor(ROOT, ["rolls"])).toEqual([]);
  expect(buildsFor(ROOT, ["-t", "cert-manager"])).toEqual(buildsFor(ROOT, []));
  expect(buildsFor(ROOT, [])).toContain("cert-manager");
});

test("slice: the commit is the checked-out one, and without a commit the error contains git's message", async () => {
  const root = mkdtempSync(join(tmpdir(), "slice-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  await expect(currentCommit(root)).rejects.toThrow(/Name chapters instead.*git printed: .*not a git repository/s);
  const git = (...args: readonly string[]) =>
    run("git", ["-C", root, "-c", "user.name=nobody", "-c", "user.email=nobody@example.com", ...args]);
  await git("init", "--quiet");
  await expect(currentCommit(root)).rejects.toThrow(/git printed: .*single revision/s);
  await git("commit", "--quiet", "--allow-empty", "--message", "first");
  expect(await currentCommit(root)).toMatch(/^[0-9a-f]{40}$/);
  writeFileSync(join(root, ".git", "config"), "[core");
  await expect(currentCommit(root)).rejects.toThrow(/git printed: .*bad config/s);
});

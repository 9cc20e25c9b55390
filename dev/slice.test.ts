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

test("slice: the commit chooses where it begins; it goes on in a circle as long as chapters fit", () => {
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

test("slice: a chapter that is longer than a slice is told alone", () => {
  expect(sliceOf({ a: 20, b: 1 }, "0".repeat(40), 15)).toEqual(["a"]);
});

test("slice: every chapter comes first for some commit, and none is longer than a slice", () => {
  const names = Object.keys(chapters);
  expect(names.map((_, number) => sliceOf(chapters, number.toString(16).padStart(8, "0"))[0])).toEqual(names);
  for (const minutes of Object.values(chapters)) expect(minutes).toBeLessThanOrEqual(15);
});

test("slice: what a chapter alone needs is built when it is told, and for no other", () => {
  expect(buildsFor(ROOT, ["test/long/cert-manager.test.ts"])).toEqual(["cert-manager"]);
  expect(buildsFor(ROOT, ["cert-manager", "-t", "renewed"])).toEqual(["cert-manager"]);
  expect(buildsFor(ROOT, ["backups", "-t", "cert-manager"])).toEqual(["azurite", "fake-gcs-server", "versitygw"]);
  expect(buildsFor(ROOT, ["rolls"])).toEqual([]);
  expect(buildsFor(ROOT, ["-t", "cert-manager"])).toEqual(buildsFor(ROOT, []));
  expect(buildsFor(ROOT, [])).toContain("cert-manager");
});

test("slice: the commit is the one that is checked out; where git tells none, its own words say why", async () => {
  const root = mkdtempSync(join(tmpdir(), "slice-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  await expect(currentCommit(root)).rejects.toThrow(/name chapters instead.*git says: .*not a git repository/s);
  const git = (...args: readonly string[]) =>
    run("git", ["-C", root, "-c", "user.name=nobody", "-c", "user.email=nobody@example.com", ...args]);
  await git("init", "--quiet");
  await expect(currentCommit(root)).rejects.toThrow(/git says: .*single revision/s);
  await git("commit", "--quiet", "--allow-empty", "--message", "first");
  expect(await currentCommit(root)).toMatch(/^[0-9a-f]{40}$/);
  writeFileSync(join(root, ".git", "config"), "[core");
  await expect(currentCommit(root)).rejects.toThrow(/git says: .*bad config/s);
});

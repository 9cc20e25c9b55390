import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { withLock } from "./lock.ts";

const folder = mkdtempSync(join(tmpdir(), "lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("lock: two callers hold the lock one after the other and leave no file", async () => {
  const path = join(folder, "shared");
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside--;
  };
  await Promise.all([withLock(path, work), withLock(path, work)]);
  expect(most).toBe(1);
  expect(existsSync(path)).toBe(false);
});

test("lock: a lock of a process that has ended is broken", async () => {
  const path = join(folder, "stale");
  writeFileSync(path, JSON.stringify({ pid: process.pid, startTicks: "1" }));
  expect(await withLock(path, () => Promise.resolve("taken"))).toBe("taken");
});

test("lock: the error of a timeout names the holder", async () => {
  const path = join(folder, "held");
  await withLock(path, async () => {
    await expect(withLock(path, () => Promise.resolve(), { waitMs: 1 })).rejects.toThrow(`process ${process.pid}`);
  });
});

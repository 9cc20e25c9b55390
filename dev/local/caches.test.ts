import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { withLock } from "../lock.ts";
import { silentStep } from "../progress.ts";
import { removeCaches } from "./caches.ts";

const home = mkdtempSync(join(tmpdir(), "caches-"));
const root = join(home, "etcd-cluster-operator");

beforeEach(() => {
  vi.stubEnv("XDG_CACHE_HOME", home);
  mkdirSync(join(root, "bin"), { recursive: true });
  writeFileSync(join(root, "bin", "etcd"), "");
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

test("caches: removal deletes all caches and nothing outside of their folder", async () => {
  writeFileSync(join(home, "others"), "");
  expect(await removeCaches([], silentStep)).toBe(true);
  expect([existsSync(root), existsSync(join(home, "others"))]).toEqual([false, true]);
  expect(await removeCaches([], silentStep)).toBe(false);
});

test("caches: a running instance prevents the removal", async () => {
  await expect(removeCaches(["/clone/.local/demo"], silentStep)).rejects.toThrow(/in use by .*\/clone\/\.local\/demo/);
  expect(existsSync(join(root, "bin", "etcd"))).toBe(true);
});

test("caches: a running build prevents the removal, and the lock of an ended process does not", async () => {
  await withLock(join(root, "build-etcd.lock"), async () => {
    await expect(removeCaches([], silentStep)).rejects.toThrow(`process ${process.pid} is building`);
  });
  writeFileSync(join(root, "build-etcd.lock"), JSON.stringify({ pid: process.pid, startTicks: "1" }));
  expect(await removeCaches([], silentStep)).toBe(true);
});

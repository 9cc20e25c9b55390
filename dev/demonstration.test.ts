import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { givenPlan, localPlan } from "./demonstration.ts";
import { Journey } from "./journey.ts";
import { DEFAULT_ETCD_VERSION } from "./versions.ts";

const cache = mkdtempSync(join(tmpdir(), "demonstration-"));
beforeAll(() => void vi.stubEnv("XDG_CACHE_HOME", cache));
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(cache, { recursive: true });
});

test("demonstration: the default etcd image has the operator's default version, as the example names none", () => {
  expect(DEFAULT_ETCD_VERSION).toBe(DEFAULT_VERSION);
});

test("demonstration: with an empty cache all components and one etcd are built", () => {
  const titles = localPlan().map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
  expect(titles.filter((title) => title.endsWith(" built")).map((title) => title.split(" ")[0])).toEqual([
    "kubernetes",
    "etcd",
    "containerd",
    "runc",
    "cni",
    "coredns",
    "pause",
  ]);
  expect(titles).toContain(`etcd ${DEFAULT_VERSION} built`);
});

test("demonstration: every build has an expected duration", () => {
  const nothing = { of: () => undefined, note: () => {} };
  expect(new Journey(localPlan(), nothing).summary()).toMatch(/^1\d steps, about 9 minutes$/);
});

test("demonstration: the plan for a cluster that pulls the image has two steps fewer than for kind", () => {
  expect(givenPlan(true).length - givenPlan(false).length).toBe(2);
});

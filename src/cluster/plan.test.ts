import { globSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { rulesIn } from "#kit/tables/cluster-plan.ts";
import { CLUSTER_RULES, planCluster } from "./plan.ts";

// Plans by subject: plan.test.ts in each folder.

test("cluster plan: each rule is in a folder with a plan.test.ts", () => {
  const folders = globSync("src/cluster*/**/*plan.test.ts").map(dirname);
  const tested = folders.flatMap(rulesIn);
  expect(CLUSTER_RULES.map(({ name }) => name).filter((name) => !tested.includes(name))).toEqual([]);
});

test("cluster plan: two equal snapshots of a new cluster give the same plan", () => {
  expect(planCluster(cluster({ stage: "new" }))).toEqual(planCluster(cluster({ stage: "new" })));
});

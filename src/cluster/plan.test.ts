import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import { cluster } from "#kit/cluster.ts";

// What is planned when: rules/<what the rule is about>/plan.test.ts.

test("cluster plan: each rule stands in a folder whose plans are tested", () => {
  const folders = readdirSync("src/cluster/rules").filter((name) =>
    existsSync(`src/cluster/rules/${name}/plan.test.ts`),
  );
  const isTested = (rule: string) => folders.some((folder) => existsSync(`src/cluster/rules/${folder}/${rule}.ts`));
  expect(CLUSTER_RULES.map(({ name }) => name).filter((name) => !isTested(name))).toEqual([]);
});

test("cluster plan: a bootstrap from nothing takes the same steps in the same order every time", () => {
  expect(planCluster(cluster({ stage: "new" }))).toEqual(planCluster(cluster({ stage: "new" })));
});

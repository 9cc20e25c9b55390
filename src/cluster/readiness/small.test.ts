import { expect, test } from "vitest";
import { clusterStatus } from "#cluster/status.ts";
import { cluster } from "#kit/snapshots/cluster.ts";

function readyOf(replicas: number, spec: object = {}) {
  const { conditions } = clusterStatus(cluster({ replicas, spec }), { next: "settled" });
  return conditions?.find(({ type }) => type === "Ready")?.message;
}

const WAIT = "clients wait until it has started again";

test.each([
  ["with one member", 1, {}, `1 of 1 members are healthy voters; drains may evict the only member: ${WAIT}`],
  [
    "with two members",
    2,
    {},
    expect.stringMatching(new RegExp(`is better; drains may evict one member at a time: ${WAIT}$`)),
  ],
  ["with three members (no effect)", 3, {}, "3 of 3 members are healthy voters"],
  ["without a PodDisruptionBudget (no effect)", 1, { disruptionBudget: "None" }, "1 of 1 members are healthy voters"],
])("the effect of a drain is reported for a cluster %s", (_, replicas, spec, message) => {
  expect(readyOf(replicas, spec)).toEqual(message);
});

import { expect, test } from "vitest";
import { clusterStatus } from "#cluster/status.ts";
import { cluster } from "#kit/snapshots/cluster.ts";

function readyOf(replicas: number, spec: object = {}) {
  const { conditions } = clusterStatus(cluster({ replicas, spec }), { next: "settled" });
  return conditions?.find(({ type }) => type === "Ready")?.message;
}

const WAIT = "clients wait until it has started again";

test.each([
  [
    "is in the message with one member",
    1,
    {},
    `1 of 1 members are healthy voters; drains may evict the only member: ${WAIT}`,
  ],
  [
    "is in the message with two members",
    2,
    {},
    expect.stringMatching(new RegExp(`is better; drains may evict one member at a time: ${WAIT}$`)),
  ],
  ["is not in the message with three members", 3, {}, "3 of 3 members are healthy voters"],
  [
    "is not in the message without a PodDisruptionBudget",
    1,
    { disruptionBudget: { policy: "None" } },
    "1 of 1 members are healthy voters",
  ],
])("Ready: the effect of a drain %s", (_, replicas, spec, message) => {
  expect(readyOf(replicas, spec)).toEqual(message);
});

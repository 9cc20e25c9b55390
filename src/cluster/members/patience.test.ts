import { expect, test } from "vitest";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, endpointStatus, pod, sickFor } from "#kit/snapshots/cluster.ts";
import { withoutClaim } from "#kit/snapshots/cluster-changes.ts";
import type { Pod } from "#kube/kinds.ts";
import { knownMembers } from "./members.ts";
import { hasIndirectSignOfLife, votersToReplace } from "./patience.ts";

const down = cluster({ down: ["my-etcd-1"] });

function names(snapshot: ClusterSnapshot): readonly string[] {
  return votersToReplace(snapshot).map(({ name }) => name);
}

/** @param name of the container with this last output */
function saying(message: string, name = "etcd"): ClusterSnapshot {
  const terminated = { exitCode: 1, message };
  const its = pod("my-etcd-1", { ready: false });
  const containerStatuses = [{ name, state: { waiting: {} }, lastState: { terminated } }];
  const ended = { ...its, status: { ...its.status, containerStatuses } } as unknown as Pod;
  return sickFor({ ...down, pods: new Map([...down.pods, ["my-etcd-1", ended]]) }, "my-etcd-1", 10_000);
}

const cases: { name: string; given: ClusterSnapshot; expect: readonly string[] }[] = [
  { name: "no member before the stated time", given: sickFor(down, "my-etcd-1", 299_999), expect: [] },
  { name: "a member lost for the stated time", given: sickFor(down, "my-etcd-1", 300_000), expect: ["my-etcd-1"] },
  {
    name: "no member without counted time, even with replacement time 0",
    given: { ...down, replaceAfterMs: 0 },
    expect: [],
  },
  {
    name: "a member lost for any time, with replacement time 0",
    given: { ...sickFor(down, "my-etcd-1", 1), replaceAfterMs: 0 },
    expect: ["my-etcd-1"],
  },
  {
    name: "no member without a claim for less than ten seconds",
    given: withoutClaim(sickFor(down, "my-etcd-1", 9_999), "my-etcd-1"),
    expect: [],
  },
  {
    name: "a member without a claim for ten seconds",
    given: withoutClaim(sickFor(down, "my-etcd-1", 10_000), "my-etcd-1"),
    expect: ["my-etcd-1"],
  },
  {
    name: "no member sooner than stated, also without a claim",
    given: { ...withoutClaim(sickFor(down, "my-etcd-1", 4_999), "my-etcd-1"), replaceAfterMs: 5_000 },
    expect: [],
  },
  {
    name: "no member that answers, whatever was seen before",
    given: sickFor(cluster(), "my-etcd-1", 3_000_000),
    expect: [],
  },
  {
    name: "no lost member with Never",
    given: { ...sickFor(down, "my-etcd-1", 3_000_000_000), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: [],
  },
  {
    name: "a member without a claim, also with Never",
    given: {
      ...withoutClaim(sickFor(down, "my-etcd-1", 10_000), "my-etcd-1"),
      replaceAfterMs: Number.POSITIVE_INFINITY,
    },
    expect: ["my-etcd-1"],
  },
  {
    name: "a member with an empty volume, also with Never",
    given: { ...saying("couldn't find local name"), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: ["my-etcd-1"],
  },
  { name: "a member with an empty volume", given: saying("couldn't find local name"), expect: ["my-etcd-1"] },
  {
    name: "a member with bootstrap flags and an empty volume",
    given: saying("member 1 has already been bootstrapped"),
    expect: ["my-etcd-1"],
  },
  {
    name: "no member sooner for the output of a sidecar",
    given: saying("couldn't find local name", "log-shipper"),
    expect: [],
  },
  { name: "no member sooner for other last output", given: saying("address already in use"), expect: [] },
  {
    name: "the longest lost first",
    given: sickFor(
      sickFor(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }), "my-etcd-1", 300_000),
      "my-etcd-3",
      400_000,
    ),
    expect: ["my-etcd-3", "my-etcd-1"],
  },
  {
    name: "the longest lost first, in any ordinal order",
    given: sickFor(
      sickFor(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }), "my-etcd-1", 400_000),
      "my-etcd-3",
      300_000,
    ),
    expect: ["my-etcd-1", "my-etcd-3"],
  },
];
for (const { name, given, expect: wanted } of cases) {
  test(`patience: gives up ${name}`, () => expect(names(given)).toEqual(wanted));
}

test("patience: a member's own answer counts more than other signs", () => {
  const settled = cluster();
  const [, member] = knownMembers(settled);
  const { clusterID } = settled.cluster.status!.identity!;
  const leaderless = present(endpointStatus(clusterID, member!.id, undefined));
  const answering = { ...settled, endpoints: new Map([...settled.endpoints, [member!.name, leaderless] as const]) };
  expect(hasIndirectSignOfLife({ ...answering, heard: new Set([member!.id]) }, member!)).toBe(false);
  expect(hasIndirectSignOfLife({ ...down, heard: new Set([member!.id]) }, member!)).toBe(true);
  expect(hasIndirectSignOfLife({ ...down, pods: settled.pods }, member!)).toBe(true);
  expect(hasIndirectSignOfLife(down, member!)).toBe(false);
});

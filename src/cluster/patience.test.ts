import { expect, test } from "vitest";
import { present } from "#base/observed.ts";
import { knownMembers } from "#cluster/members.ts";
import { givenUp, isVouchedFor } from "#cluster/patience.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, endpointStatus, pod, sickFor } from "#kit/cluster.ts";
import { withoutClaim } from "#kit/cluster-changes.ts";
import type { Pod } from "#kube/kinds.ts";

const down = cluster({ down: ["my-etcd-1"] });

function names(snapshot: ClusterSnapshot): readonly string[] {
  return givenUp(snapshot).map(({ name }) => name);
}

/** @param name of the container that said so before it ended */
function saying(message: string, name = "etcd"): ClusterSnapshot {
  const terminated = { exitCode: 1, message };
  const its = pod("my-etcd-1", { ready: false });
  const containerStatuses = [{ name, state: { waiting: {} }, lastState: { terminated } }];
  const ended = { ...its, status: { ...its.status, containerStatuses } } as unknown as Pod;
  return sickFor({ ...down, pods: new Map([...down.pods, ["my-etcd-1", ended]]) }, "my-etcd-1", 10_000);
}

const cases: { name: string; given: ClusterSnapshot; expect: readonly string[] }[] = [
  { name: "nobody before the stated time", given: sickFor(down, "my-etcd-1", 299_999), expect: [] },
  { name: "who is lost for the stated time", given: sickFor(down, "my-etcd-1", 300_000), expect: ["my-etcd-1"] },
  {
    name: "nobody of whom no time has been counted, with no patience at all",
    given: { ...down, replaceAfterMs: 0 },
    expect: [],
  },
  {
    name: "with no patience at all who is seen to be lost for any time",
    given: { ...sickFor(down, "my-etcd-1", 1), replaceAfterMs: 0 },
    expect: ["my-etcd-1"],
  },
  {
    name: "nobody whose claim is gone for less than ten seconds",
    given: withoutClaim(sickFor(down, "my-etcd-1", 9_999), "my-etcd-1"),
    expect: [],
  },
  {
    name: "whose claim is gone for ten seconds",
    given: withoutClaim(sickFor(down, "my-etcd-1", 10_000), "my-etcd-1"),
    expect: ["my-etcd-1"],
  },
  {
    name: "nobody sooner than is stated, also when the claim is gone",
    given: { ...withoutClaim(sickFor(down, "my-etcd-1", 4_999), "my-etcd-1"), replaceAfterMs: 5_000 },
    expect: [],
  },
  {
    name: "nobody who answers, whatever was seen before",
    given: sickFor(cluster(), "my-etcd-1", 3_000_000),
    expect: [],
  },
  {
    name: "nobody for being lost, when the spec says Never",
    given: { ...sickFor(down, "my-etcd-1", 3_000_000_000), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: [],
  },
  {
    name: "whose claim is gone, also when the spec says Never",
    given: {
      ...withoutClaim(sickFor(down, "my-etcd-1", 10_000), "my-etcd-1"),
      replaceAfterMs: Number.POSITIVE_INFINITY,
    },
    expect: ["my-etcd-1"],
  },
  {
    name: "who stopped before an empty volume, also when the spec says Never",
    given: { ...saying("couldn't find local name"), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: ["my-etcd-1"],
  },
  { name: "who stopped before an empty volume", given: saying("couldn't find local name"), expect: ["my-etcd-1"] },
  {
    name: "who was to bootstrap again on an empty volume",
    given: saying("member 1 has already been bootstrapped"),
    expect: ["my-etcd-1"],
  },
  {
    name: "nobody sooner for what a sidecar said, be it etcd's own words",
    given: saying("couldn't find local name", "log-shipper"),
    expect: [],
  },
  { name: "nobody sooner for other last words", given: saying("address already in use"), expect: [] },
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
    name: "the longest lost first, whatever the ordinal",
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

test("patience: who answers speaks for itself, whatever the kubelet and the others say", () => {
  const settled = cluster();
  const [, member] = knownMembers(settled);
  const { clusterID } = settled.cluster.status!.identity!;
  const leaderless = present(endpointStatus(clusterID, member!.id, undefined));
  const answering = { ...settled, endpoints: new Map([...settled.endpoints, [member!.name, leaderless] as const]) };
  expect(isVouchedFor({ ...answering, heard: new Set([member!.id]) }, member!)).toBe(false);
  expect(isVouchedFor({ ...down, heard: new Set([member!.id]) }, member!)).toBe(true);
  expect(isVouchedFor({ ...down, pods: settled.pods }, member!)).toBe(true);
  expect(isVouchedFor(down, member!)).toBe(false);
});

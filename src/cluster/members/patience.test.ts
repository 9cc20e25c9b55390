import { expect, test } from "vitest";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, endpointStatus, pod, sickFor } from "#kit/snapshots/cluster.ts";
import { withoutClaim } from "#kit/snapshots/cluster-changes.ts";
import type { Pod } from "#kube/kinds.ts";
import { knownMembers, memberById } from "./members.ts";
import { votersToReplace } from "./patience.ts";

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
  {
    name: "no lost member before spec.replacement.after is over",
    given: sickFor(down, "my-etcd-1", 299_999),
    expect: [],
  },
  {
    name: "a member that has been lost for spec.replacement.after",
    given: sickFor(down, "my-etcd-1", 300_000),
    expect: ["my-etcd-1"],
  },
  {
    name: "no member that was never counted as lost, even when spec.replacement.after is 0",
    given: { ...down, replaceAfterMs: 0 },
    expect: [],
  },
  {
    name: "a member that has been lost for any time when spec.replacement.after is 0",
    given: { ...sickFor(down, "my-etcd-1", 1), replaceAfterMs: 0 },
    expect: ["my-etcd-1"],
  },
  {
    name: "no member without a claim that has been lost for less than ten seconds",
    given: begin(down).apply(sickFor, "my-etcd-1", 9_999).apply(withoutClaim, "my-etcd-1").snapshot,
    expect: [],
  },
  {
    name: "a member without a claim that has been lost for ten seconds",
    given: begin(down).apply(sickFor, "my-etcd-1", 10_000).apply(withoutClaim, "my-etcd-1").snapshot,
    expect: ["my-etcd-1"],
  },
  {
    name: "no member before spec.replacement.after is over, even without a claim",
    given: {
      ...begin(down).apply(sickFor, "my-etcd-1", 4_999).apply(withoutClaim, "my-etcd-1").snapshot,
      replaceAfterMs: 5_000,
    },
    expect: [],
  },
  {
    name: "no member that answers, however long it was lost before",
    given: sickFor(cluster(), "my-etcd-1", 3_000_000),
    expect: [],
  },
  {
    name: "no lost member when spec.replacement.policy is Never",
    given: { ...sickFor(down, "my-etcd-1", 3_000_000_000), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: [],
  },
  {
    name: "a member without a claim even when spec.replacement.policy is Never",
    given: {
      ...begin(down).apply(sickFor, "my-etcd-1", 10_000).apply(withoutClaim, "my-etcd-1").snapshot,
      replaceAfterMs: Number.POSITIVE_INFINITY,
    },
    expect: ["my-etcd-1"],
  },
  {
    name: "a member with an empty volume even when spec.replacement.policy is Never",
    given: { ...saying("couldn't find local name"), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: ["my-etcd-1"],
  },
  {
    name: "a fenced member that stopped on an empty volume after ten seconds",
    given: saying("couldn't find local name"),
    expect: ["my-etcd-1"],
  },
  {
    name: "a member with bootstrap flags that stopped on an empty volume after ten seconds",
    given: saying("member 1 has already been bootstrapped"),
    expect: ["my-etcd-1"],
  },
  {
    name: "no member after ten seconds because of the output of a sidecar",
    given: saying("couldn't find local name", "log-shipper"),
    expect: [],
  },
  {
    name: "no member after ten seconds because of other last output",
    given: saying("address already in use"),
    expect: [],
  },
  {
    name: "the member that has been lost longest first",
    given: begin(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }))
      .apply(sickFor, "my-etcd-1", 300_000)
      .apply(sickFor, "my-etcd-3", 400_000).snapshot,
    expect: ["my-etcd-3", "my-etcd-1"],
  },
  {
    name: "the member that has been lost longest first also when it has the lower ordinal",
    given: begin(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }))
      .apply(sickFor, "my-etcd-1", 400_000)
      .apply(sickFor, "my-etcd-3", 300_000).snapshot,
    expect: ["my-etcd-1", "my-etcd-3"],
  },
];
for (const { name, given, expect: wanted } of cases) {
  test(`patience: replaces ${name}`, () => expect(names(given)).toEqual(wanted));
}

test("patience: a member's own answer takes precedence over raft traffic and pod readiness", () => {
  const settled = cluster();
  const [, member] = knownMembers(settled);
  const { clusterID } = settled.cluster.status!.identity!;
  const leaderless = present(endpointStatus(clusterID, member!.id, undefined));
  const answering = { ...settled, endpoints: new Map([...settled.endpoints, [member!.name, leaderless] as const]) };
  const isVouchedFor = (given: ClusterSnapshot) => memberById(given, member!.id)!.isVouchedFor;
  expect(isVouchedFor({ ...answering, heard: new Set([member!.id]) })).toBe(false);
  expect(isVouchedFor({ ...down, heard: new Set([member!.id]) })).toBe(true);
  expect(isVouchedFor({ ...down, pods: settled.pods })).toBe(true);
  expect(isVouchedFor(down)).toBe(false);
});

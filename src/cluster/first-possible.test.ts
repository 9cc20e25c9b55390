import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { cluster } from "#kit/cluster.ts";
import { NEWER, OLD } from "#kit/cluster-rolling.ts";
import { HAS } from "#kit/cluster-switch.ts";
import { step } from "#runtime/decide.ts";
import { firstPossible } from "./first-possible.ts";

/** Nobody has made the Secrets that it names. */
const GONE = { ...OLD, tls: HAS.both };

function give(snapshot: ClusterSnapshot, name: string, template: Parameters<typeof revisedPeer>[1]) {
  const live = peerNamed(snapshot, name)!;
  const given: ClusterStep = { do: "replacePeer", live, peer: revisedPeer(live, template, undefined) };
  return step("put-back", `${name} gets it`, given);
}

test.each<[string, ClusterSnapshot, string]>([
  ["the first one that no guard forbids", cluster(), "my-etcd-1"],
  ["also without a quorum", { ...cluster(), members: unknown("no leader") }, "my-etcd-1"],
])("of what could be done, it is %s", (_, given, expected) => {
  const all = [give(given, "my-etcd-0", GONE), give(given, "my-etcd-1", NEWER), give(given, "my-etcd-2", NEWER)];
  expect(firstPossible(given, all)).toMatchObject({ next: "step", because: `${expected} gets it` });
});

test.each<[string, ClusterSnapshot]>([
  ["as people have to hear", cluster()],
  [
    "also where several members have no quorum, which they are told besides",
    { ...cluster(), members: unknown("no leader") },
  ],
])("where guards forbid all of it, why the first one is forbidden is only remarked, %s", (_, given) => {
  expect(firstPossible(given, [give(given, "my-etcd-0", GONE), give(given, "my-etcd-1", GONE)])).toMatchObject({
    next: "remark",
    rule: "put-back",
    because: /^my-etcd-0 gets it; that is held back: Secret .+ is not known to be for EtcdClusters$/,
  });
});

test("where there is nothing to do, nothing is", () => {
  expect(firstPossible(cluster(), [])).toBeUndefined();
});

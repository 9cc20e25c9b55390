import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { NEWER, OLD } from "#kit/snapshots/cluster-rolling.ts";
import { HAS } from "#kit/snapshots/scheme-change.ts";
import { step } from "#runtime/decide.ts";
import { firstPossible } from "./first-possible.ts";
import { type ClusterSnapshot, peerNamed } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";

/** Its Secrets are missing. */
const GONE = { ...OLD, tls: HAS.both };

function give(snapshot: ClusterSnapshot, name: string, template: Parameters<typeof revisedPeer>[1]) {
  const live = peerNamed(snapshot, name)!;
  const given: ClusterStep = { do: "replacePeer", live, peer: revisedPeer(live, template, undefined) };
  return step(`${name} gets it`, given);
}

test.each<[string, ClusterSnapshot, string]>([
  ["the first step that no guard forbids", cluster(), "my-etcd-1"],
  [
    "the first step that no guard forbids, even without a quorum",
    { ...cluster(), members: unknown("no leader") },
    "my-etcd-1",
  ],
])("firstPossible: of several steps, the result is %s", (_, given, expected) => {
  const all = [give(given, "my-etcd-0", GONE), give(given, "my-etcd-1", NEWER), give(given, "my-etcd-2", NEWER)];
  expect(firstPossible(given, all)).toMatchObject({ next: "step", because: `${expected} gets it` });
});

test.each<[string, ClusterSnapshot]>([
  ["in a cluster with a quorum", cluster()],
  ["in a cluster without a quorum", { ...cluster(), members: unknown("no leader") }],
])("firstPossible: when guards forbid all steps, the result is a notice about the first step %s", (_, given) => {
  expect(firstPossible(given, [give(given, "my-etcd-0", GONE), give(given, "my-etcd-1", GONE)])).toMatchObject({
    next: "notice",
    because: /^my-etcd-0 gets it; that is held back: Secret .+ is not known to be for EtcdClusters$/,
  });
});

test("firstPossible: without steps there is no result", () => {
  expect(firstPossible(cluster(), [])).toBeUndefined();
});

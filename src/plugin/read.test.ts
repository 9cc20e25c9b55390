import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { seenCluster, seenEvent } from "#kit/snapshots/pictures.ts";
import type { Values } from "./fields.ts";
import { isEventOf } from "./read.ts";

const seen = seenCluster(cluster());
const { uid } = seen.metadata as { uid: string };
const ofCluster = { kind: "EtcdCluster", name: "my-etcd", uid };
const ofMember = { kind: "EtcdPeer", name: "my-etcd-1", uid: "of-member" };
const operator = { reportingComponent: "etcd-cluster-operator" };

test.each<[string, Values, boolean]>([
  ["the operator about the cluster", { ...operator, involvedObject: ofCluster }, true],
  ["the operator about a member", { ...operator, involvedObject: ofMember }, true],
  ["the operator about a member of another", { ...operator, involvedObject: { ...ofMember, name: "other-1" } }, false],
  ["the operator about an earlier cluster", { ...operator, involvedObject: { ...ofCluster, uid: "old" } }, false],
  ["another component about the cluster", { reportingComponent: "x", involvedObject: ofCluster }, false],
  ["another component about a member", { reportingComponent: "x", involvedObject: ofMember }, false],
  ["no component", { involvedObject: ofCluster }, false],
])("an event of %s", (_, given, isOurs) => {
  expect(isEventOf(seen, seenEvent("Bootstrap", "3 members start", 0, given))).toBe(isOurs);
});

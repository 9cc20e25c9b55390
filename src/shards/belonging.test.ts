import { expect, test } from "vitest";
import { BACKUP_LABEL, CLUSTER_LABEL, PEER_LABEL, RESTORE_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { KubeObject } from "#kube/kinds.ts";
import {
  groupName,
  isBackup,
  isIn,
  isOfCluster,
  mayConcernCluster,
  mayConcernMember,
  type Shard,
  shardNumber,
} from "./belonging.ts";

/** So many shards that two names hardly ever fall into the same one. */
const OF = 1_000_003;
/** The shard of the cluster default/mine. */
const MINE: Shard = { number: shardNumber("default", "mine", OF), of: OF };

test("the assignment is permanent: a release with a different one uses a different group name", () => {
  const names = ["a", "b", "my-etcd", "etcd-42"];
  expect(names.map((name) => shardNumber("default", name, 3))).toEqual([2, 0, 1, 2]);
  expect(names.map((name) => shardNumber("other", name, 3))).toEqual([2, 1, 1, 2]);
  expect(groupName(3)).toBe("shards-rule2-of-3");
});

test("names are spread evenly, and each belongs to exactly one shard", () => {
  const counts = [0, 0, 0];
  for (let n = 0; n < 3_000; n++)
    counts[shardNumber("fleet", `etcd-${n}`, 3)] = (counts[shardNumber("fleet", `etcd-${n}`, 3)] ?? 0) + 1;
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(100);
  const shards = [0, 1, 2].map((number) => ({ number, of: 3 }));
  for (const name of ["a", "b", "c", "d"])
    expect(shards.filter((shard) => isIn(shard, "default", name)).length).toBe(1);
});

const object = (name: string, more: object = {}): KubeObject =>
  ({ metadata: { namespace: "default", name, ...more } }) as unknown as KubeObject;
const labelled = (name: string, labels: Record<string, string>) => object(name, { labels });
const owned = (name: string, owner: string, controller = true) =>
  object(name, { labels: { [CLUSTER_LABEL]: "else" }, ownerReferences: [{ name: owner, controller }] });

test.each([
  ["an EtcdPeer of the cluster", "mine", "anything", true],
  ["an EtcdPeer of another cluster with a name like one of this cluster", "else", "mine-0", false],
])("which shard an object of a cluster is in: %s", (_title, clusterName, name, expected) => {
  const peer = { ...object(name), spec: { clusterName } } as Parameters<typeof isOfCluster>[1];
  expect(isOfCluster(MINE, peer)).toBe(expected);
});

test.each([
  ["an EtcdBackup of the cluster belongs with it", "anything", { clusterName: "mine" }, true],
  ["an EtcdBackup of another cluster does not", "mine", { clusterName: "else" }, false],
  ["an EtcdBackup that names no cluster belongs by its own name", "mine", {}, true],
  ["an EtcdBackup that names no cluster, by another name", "else", {}, false],
])("which shard a backup is in: %s", (_title, name, source, expected) => {
  expect(isBackup(MINE, { ...object(name), spec: { source } } as unknown as EtcdBackup)).toBe(expected);
});

test.each([
  ["one with the label of the cluster", labelled("anything", { [CLUSTER_LABEL]: "mine" }), true],
  ["one with the label of a member", labelled("anything", { [PEER_LABEL]: "mine-2" }), true],
  [
    "one with an edited cluster label and its original member label",
    labelled("x", { [CLUSTER_LABEL]: "else", [PEER_LABEL]: "mine-12" }),
    true,
  ],
  ["a claim without labels, by its name", object("mine-0"), true],
  ["a pod of another label, owned by a member's ReplicaSet", owned("x", "mine-1"), true],
  ["one with an owner that is not its controller", owned("x", "mine-1", false), false],
  ["a member of a cluster with this cluster's name as a prefix", object("mine-else-0"), false],
  ["a member of another cluster", labelled("else-0", { [CLUSTER_LABEL]: "else", [PEER_LABEL]: "else-0" }), false],
  ["a member of another cluster with the name of this one", labelled("mine", { [PEER_LABEL]: "mine" }), false],
  ["one with a number but no cluster in its name", object("-0"), false],
  ["one of a backup, which belongs to all shards", labelled("else-0", { [BACKUP_LABEL]: "b" }), true],
  ["one of a restore, which belongs to all shards", labelled("else-0", { [RESTORE_LABEL]: "r" }), true],
])("whether the shard caches a claim, ReplicaSet or pod: %s", (_title, given, expected) => {
  expect(mayConcernMember(MINE, given)).toBe(expected);
});

test.each([
  ["one with its label", labelled("anything", { [CLUSTER_LABEL]: "mine" }), true],
  ["the client Service without labels, by its name", object("mine-client"), true],
  ["one with its name", object("mine"), true],
  ["one that it owns, with another label", owned("x", "mine"), true],
  ["one that another cluster owns", owned("x", "else"), false],
  ["one named like its member", object("mine-0"), false],
  ["one named like a cluster with this cluster's name as a prefix", object("mine-else"), false],
])("whether the shard caches a Service, budget or NetworkPolicy: %s", (_title, given, expected) => {
  expect(mayConcernCluster(MINE, given)).toBe(expected);
});

test("the same names in another namespace are other clusters", () => {
  const elsewhere = { ...labelled("mine-0", { [CLUSTER_LABEL]: "mine" }) };
  expect(mayConcernMember(MINE, { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: "other" } })).toBe(false);
});

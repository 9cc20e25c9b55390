import { describe, expect, test } from "vitest";
import { BACKUP_LABEL, CLUSTER_LABEL, PEER_LABEL, RESTORE_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import type { KubeObject } from "#kube/kinds.ts";
import {
  groupName,
  isBackup,
  isIn,
  isPeer,
  isRoleOrUser,
  mayConcernCluster,
  mayConcernMember,
  type Shard,
  shardNumber,
} from "./belonging.ts";

/** So many shards that two names hardly ever fall into the same one. */
const OF = 1_000_003;
/** The shard of the cluster default/mine. */
const MINE: Shard = { number: shardNumber("default", "mine", OF), of: OF };

test("the assignment of clusters to shards is permanent, since another assignment needs another group name", () => {
  const names = ["a", "b", "my-etcd", "etcd-42"];
  expect(names.map((name) => shardNumber("default", name, 3))).toEqual([2, 0, 1, 2]);
  expect(names.map((name) => shardNumber("other", name, 3))).toEqual([2, 1, 1, 2]);
  expect(groupName(3)).toBe("shards-rule2-of-3");
});

test("cluster names are spread evenly over shards, and each belongs to exactly one", () => {
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

describe.each([
  ["is that of its cluster", "mine", "anything", true],
  ["is not that of a cluster with a name that its own name begins with", "else", "mine-0", false],
])("the shard %s", (_title, cluster, name, expected) => {
  test("of an EtcdPeer", () => {
    const peer = { ...object(name), spec: { clusterName: cluster } } as unknown as EtcdPeer;
    expect(isPeer(MINE, peer)).toBe(expected);
  });

  test("of an EtcdRole or EtcdUser", () => {
    const user = { ...object(name), spec: { clusterRef: { name: cluster } } } as unknown as EtcdUser;
    expect(isRoleOrUser(MINE, user)).toBe(expected);
  });
});

test.each([
  ["is that of its cluster", "anything", { cluster: { name: "mine" } }, true],
  ["is not that of a cluster with the name of the EtcdBackup", "mine", { cluster: { name: "else" } }, false],
  ["is that of its own name if it names no cluster", "mine", {}, true],
  ["is not that of another name if it names no cluster", "else", {}, false],
])("the shard of an EtcdBackup %s", (_title, name, source, expected) => {
  expect(isBackup(MINE, { ...object(name), spec: { source } } as unknown as EtcdBackup)).toBe(expected);
});

test.each([
  ["one with the label of the shard's cluster is cached", labelled("anything", { [CLUSTER_LABEL]: "mine" }), true],
  ["one with the label of a member is cached", labelled("anything", { [PEER_LABEL]: "mine-2" }), true],
  [
    "one with an edited cluster label and its original member label is cached",
    labelled("x", { [CLUSTER_LABEL]: "else", [PEER_LABEL]: "mine-12" }),
    true,
  ],
  ["a claim without labels is cached by its name", object("mine-0"), true],
  ["a pod with another cluster's label is cached if a member's ReplicaSet owns it", owned("x", "mine-1"), true],
  ["one with an owner that is not its controller is not cached", owned("x", "mine-1", false), false],
  ["a member of a cluster with this cluster's name as a prefix is not cached", object("mine-else-0"), false],
  [
    "a member of another cluster is not cached",
    labelled("else-0", { [CLUSTER_LABEL]: "else", [PEER_LABEL]: "else-0" }),
    false,
  ],
  ["one with a member label without a number is not cached", labelled("mine", { [PEER_LABEL]: "mine" }), false],
  ["one with a number but no cluster in its name is not cached", object("-0"), false],
  ["one of a backup is cached by all shards", labelled("else-0", { [BACKUP_LABEL]: "b" }), true],
  ["one of a restore is cached by all shards", labelled("else-0", { [RESTORE_LABEL]: "r" }), true],
])("whether a shard caches a claim, ReplicaSet or pod: %s", (_title, given, expected) => {
  expect(mayConcernMember(MINE, given)).toBe(expected);
});

test.each([
  ["one with the label of the shard's cluster is cached", labelled("anything", { [CLUSTER_LABEL]: "mine" }), true],
  ["a client Service without labels is cached by its name", object("mine-client"), true],
  ["one with the name of the cluster is cached", object("mine"), true],
  ["one with another cluster's label is cached if the cluster owns it", owned("x", "mine"), true],
  ["one that another cluster owns is not cached", owned("x", "else"), false],
  ["one with the name of a member is not cached", object("mine-0"), false],
  ["one of a cluster with this cluster's name as a prefix is not cached", object("mine-else"), false],
])("whether a shard caches a Service, PodDisruptionBudget or NetworkPolicy: %s", (_title, given, expected) => {
  expect(mayConcernCluster(MINE, given)).toBe(expected);
});

test("objects with the same names in another namespace belong to other clusters", () => {
  const elsewhere = { ...labelled("mine-0", { [CLUSTER_LABEL]: "mine" }) };
  expect(mayConcernMember(MINE, { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: "other" } })).toBe(false);
});

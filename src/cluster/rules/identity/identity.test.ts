import { expect, test } from "vitest";
import { RESTORED_FROM } from "#api/names.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { claim, claimIdentity, cluster } from "#kit/cluster.ts";
import { etcdRestore } from "#kit/etcd-restore.ts";
import type { KubeObject } from "#kube/kinds.ts";

function opinion(rule: string, snapshot: ClusterSnapshot) {
  return CLUSTER_RULES.find(({ name }) => name === rule)!.decide(snapshot);
}

function foreign<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, ownerReferences: [] } };
}

const settled = cluster();
const { clusterID, initialMembers } = settled.cluster.status!.identity!;

const taken: { name: string; given: Partial<ClusterSnapshot>; expect: string }[] = [
  {
    name: "the Service of the members",
    given: { headlessService: foreign(settled.headlessService!) },
    expect: "Service my-etcd exists already",
  },
  {
    name: "the Service for clients",
    given: { clientService: foreign(settled.clientService!) },
    expect: "Service my-etcd-client exists already",
  },
  {
    name: "the budget",
    given: { budget: foreign(settled.budget!) },
    expect: "PodDisruptionBudget my-etcd exists already",
  },
  {
    name: "an EtcdPeer",
    given: { foreignPeers: [foreign(settled.peers[0]!)] },
    expect: "EtcdPeer my-etcd-0 exists already",
  },
];
for (const { name, given, expect: wanted } of taken) {
  test(`name-taken: ${name} of somebody else is not taken over, and a person hears of it`, () => {
    expect(opinion("name-taken", cluster({ stage: "new", with: given }))).toMatchObject({
      next: "wait",
      warn: true,
      because: expect.stringContaining(wanted),
    });
  });
}

test("name-taken: what the cluster has made itself is no obstacle when its status was lost", () => {
  const { headlessService, clientService, budget } = settled;
  const given = cluster({ stage: "new", with: { headlessService, clientService, budget } });
  expect(opinion("name-taken", given)).toBeUndefined();
});

/** The claims of the first members; those that are named have no volume yet. */
function returning(...unbound: readonly string[]): ClusterSnapshot {
  const claims = initialMembers.map(({ name, id }) =>
    claim(name, claimIdentity(clusterID, id), { bound: !unbound.includes(name) }),
  );
  return cluster({ stage: "new", with: { claims } });
}

test("adopt-claims: it says who comes back with data, and only that", () => {
  expect(opinion("adopt-claims", returning("my-etcd-1"))).toMatchObject({
    because: `claims of cluster ${clusterID} were kept: my-etcd-0, my-etcd-2 come back with their data`,
  });
  expect(opinion("adopt-claims", returning("my-etcd-0", "my-etcd-1", "my-etcd-2"))).toMatchObject({
    because: `claims of cluster ${clusterID} were kept: none of them ever had a volume`,
  });
});

const FROM_BACKUP = { bootstrap: { fromBackup: { backupName: "nightly" } } };

/** A new cluster, and the EtcdRestore that it has asked for, with these conditions. */
function restoring(phase: "Pending" | "Failed", told: Readonly<Record<string, string>>, askedBy = "uid-of-cluster") {
  const conditions = Object.entries(told).map(([type, message]) => ({
    ...{ type, message, status: "False" as const, reason: "R", observedGeneration: 1 },
    lastTransitionTime: "2026-01-01T12:00:00Z",
  }));
  const restore = etcdRestore({ askedBy, status: { phase, conditions } });
  return cluster({ stage: "new", spec: FROM_BACKUP, with: { restore } });
}

test("create-restore: who has an identity, or is to sleep, asks for no data", () => {
  expect(opinion("create-restore", cluster({ stage: "new", spec: FROM_BACKUP }))).toBeDefined();
  expect(opinion("create-restore", cluster({ spec: FROM_BACKUP, with: { claims: [] } }))).toBeUndefined();
  expect(opinion("create-restore", cluster({ stage: "new", spec: { ...FROM_BACKUP, replicas: 0 } }))).toBeUndefined();
});

test("record-identity: who is to sleep becomes nobody yet", () => {
  expect(opinion("record-identity", cluster({ stage: "new" }))).toBeDefined();
  expect(opinion("record-identity", cluster({ stage: "new", spec: { replicas: 0 } }))).toBeUndefined();
});

test("await-restore: it says how far the restore is, in the words of the restore", () => {
  const given = restoring("Pending", { Failed: "nothing has failed", Complete: "1 of 3 claims is filled" });
  expect(opinion("await-restore", given)).toMatchObject({
    because: "EtcdRestore back fills its claims: 1 of 3 claims is filled",
  });
  expect(opinion("await-restore", restoring("Pending", {}))).toMatchObject({
    because: "EtcdRestore back fills its claims: nothing is known of it yet",
  });
});

test("restore-failed: it says why, or whose the EtcdRestore is", () => {
  const told = { Complete: "it has failed", Failed: "the object is not there" };
  expect(opinion("restore-failed", restoring("Failed", told))).toMatchObject({
    because: expect.stringContaining("EtcdRestore back has failed: the object is not there; delete it"),
  });
  expect(opinion("restore-failed", restoring("Failed", {}))).toMatchObject({
    because: expect.stringContaining("EtcdRestore back has failed: it does not say why; delete it"),
  });
  expect(opinion("restore-failed", restoring("Failed", told, "another"))).toMatchObject({
    because: expect.stringContaining("EtcdRestore back exists already and is not this cluster's"),
  });
});

test("restore-failed: of claims that were restored and are gone it says how to begin with nothing, also for who has copied the annotation", () => {
  const given = cluster({ stage: "new", annotations: { [RESTORED_FROM]: "uid-of-restore" } });
  const remedy = "kubectl annotate etcdcluster my-etcd etcd.improbable.io/restored-from-";
  expect(opinion("restore-failed", given)).toMatchObject({
    because: `it is to begin with what the EtcdRestore with uid uid-of-restore has restored, as its annotation etcd.improbable.io/restored-from says, and no claim of it is there; restore once more, under another name or when this EtcdCluster is gone, or have it begin with nothing: ${remedy}`,
  });
  expect(opinion("restore-failed", { ...given, claims: [claim("my-etcd-0")] })).toBeUndefined();
});

import { expect, test } from "vitest";
import { RESTORED_FROM } from "#api/names.ts";
import { adoptedIdentity } from "#cluster/identity/desired/identity.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { claim, claimIdentity, cluster } from "#kit/snapshots/cluster.ts";
import { etcdRestore } from "#kit/snapshots/etcd-restore.ts";
import type { KubeObject } from "#kube/kinds.ts";

function opinion(rule: string, snapshot: ClusterSnapshot) {
  return CLUSTER_RULES.find(({ name }) => name === rule)!.decide(snapshot);
}

function foreign<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, ownerReferences: [] } };
}

/** The object with another controller as its owner. */
function ownedElsewhere<T extends KubeObject>(object: T): T {
  const [own] = object.metadata.ownerReferences ?? [];
  return { ...object, metadata: { ...object.metadata, ownerReferences: [{ ...own!, uid: "another" }] } };
}

const settled = cluster();
const { clusterID, initialMembers } = settled.cluster.status!.identity!;

const taken: { name: string; given: Partial<ClusterSnapshot>; expect: string }[] = [
  {
    name: "the headless Service",
    given: { headlessService: foreign(settled.headlessService!) },
    expect: "Service my-etcd exists already",
  },
  {
    name: "the client Service",
    given: { clientService: foreign(settled.clientService!) },
    expect: "Service my-etcd-client exists already",
  },
  {
    name: "the PodDisruptionBudget",
    given: { budget: foreign(settled.budget!) },
    expect: "PodDisruptionBudget my-etcd exists already",
  },
  {
    name: "an EtcdPeer",
    given: { foreignPeers: [ownedElsewhere(settled.peers[0]!)] },
    expect: "EtcdPeer my-etcd-0 exists already",
  },
];
for (const { name, given, expect: wanted } of taken) {
  test(`name-taken: warns and does not take over ${name} with another owner`, () => {
    expect(opinion("name-taken", cluster({ stage: "new", with: given }))).toMatchObject({
      next: "wait",
      warn: true,
      because: expect.stringContaining(wanted),
    });
  });
}

/** What is left of an earlier EtcdCluster that was deleted with --cascade=orphan. */
function orphaned(more: Partial<ClusterSnapshot> = {}): ClusterSnapshot {
  const { headlessService, clientService, budget, peers } = settled;
  const left = {
    headlessService: foreign(headlessService!),
    clientService: foreign(clientService!),
    budget: foreign(budget!),
  };
  return cluster({ stage: "new", with: { ...left, foreignPeers: peers.map(foreign), ...more } });
}

function because(given: ClusterSnapshot): string {
  const found = opinion("name-taken", given);
  return found !== undefined && "because" in found ? found.because : "";
}

test("name-taken: names all objects that --cascade=orphan left, and one command that deletes them", () => {
  const said = because(orphaned());
  expect(said).toContain(
    "(--cascade=orphan): Service my-etcd, Service my-etcd-client, PodDisruptionBudget my-etcd, EtcdPeer my-etcd-0, EtcdPeer my-etcd-1, EtcdPeer my-etcd-2 have no owner",
  );
  expect(said).toContain(
    "kubectl delete etcdpeers,services,poddisruptionbudgets,networkpolicies,secrets,configmaps -n foo -l app.kubernetes.io/managed-by=etcd-cluster-operator,etcd.improbable.io/cluster-name=my-etcd.",
  );
});

test("name-taken: counts as orphans only objects with the operator's labels, without an owner and not terminating", () => {
  const [first, second] = settled.peers;
  const unlabelled = { ...foreign(first!), metadata: { ...foreign(first!).metadata, labels: {} } };
  const going = {
    ...foreign(first!),
    metadata: { ...foreign(first!).metadata, deletionTimestamp: "2026-01-01T12:00:00Z" },
  };
  const ofAnother = ownedElsewhere(first!);
  for (const peer of [unlabelled, going, ofAnother])
    expect(because(orphaned({ foreignPeers: [peer] }))).toMatch(/^Service my-etcd exists already/);
  const one = because(orphaned({ foreignPeers: [unlabelled, going, ofAnother, foreign(second!)] }));
  expect(one).toContain("PodDisruptionBudget my-etcd, EtcdPeer my-etcd-1 have no owner");
});

test("name-taken: accepts the cluster's own objects after its status was lost", () => {
  const { headlessService, clientService, budget } = settled;
  const given = cluster({ stage: "new", with: { headlessService, clientService, budget } });
  expect(opinion("name-taken", given)).toBeUndefined();
});

/** The claims of the first members; these are not bound yet. */
function returning(...unbound: readonly string[]): ClusterSnapshot {
  const claims = initialMembers.map(({ name, id }) =>
    claim(name, claimIdentity(clusterID, id), { bound: !unbound.includes(name) }),
  );
  return cluster({ stage: "new", with: { claims } });
}

test("adopt-claims: the message names only members that have a bound claim", () => {
  expect(opinion("adopt-claims", returning("my-etcd-1"))).toMatchObject({
    because: `claims of cluster ${clusterID} were kept: my-etcd-0, my-etcd-2 come back with their data`,
  });
  expect(opinion("adopt-claims", returning("my-etcd-0", "my-etcd-1", "my-etcd-2"))).toMatchObject({
    because: `claims of cluster ${clusterID} were kept: none of them ever had a volume`,
  });
});

test("adopt-claims: the message about later claims names only the members that these add", () => {
  const given = returning();
  const early = { ...given, claims: given.claims.slice(0, 2) };
  const identity = adoptedIdentity(early);
  const status = { identity } as NonNullable<ClusterSnapshot["cluster"]["status"]>;
  expect(opinion("adopt-claims", { ...given, cluster: { ...given.cluster, status } })).toMatchObject({
    because: "claims of the same cluster have appeared: my-etcd-2 come back with their data",
  });
});

const FROM_BACKUP = { bootstrap: { fromBackup: { source: { backupName: "nightly" } } } };

/** A new cluster and its EtcdRestore with these conditions. */
function restoring(phase: "Pending" | "Failed", told: Readonly<Record<string, string>>, askedBy = "uid-of-cluster") {
  const conditions = Object.entries(told).map(([type, message]) => ({
    ...{ type, message, status: "False" as const, reason: "R", observedGeneration: 1 },
    lastTransitionTime: "2026-01-01T12:00:00Z",
  }));
  const restore = etcdRestore({ askedBy, status: { phase, conditions } });
  return cluster({ stage: "new", spec: FROM_BACKUP, with: { restore } });
}

test("create-restore: creates no EtcdRestore with an identity or with spec.replicas 0", () => {
  expect(opinion("create-restore", cluster({ stage: "new", spec: FROM_BACKUP }))).toBeDefined();
  expect(opinion("create-restore", cluster({ spec: FROM_BACKUP, with: { claims: [] } }))).toBeUndefined();
  expect(opinion("create-restore", cluster({ stage: "new", spec: { ...FROM_BACKUP, replicas: 0 } }))).toBeUndefined();
});

test("record-identity: records no identity with spec.replicas 0", () => {
  expect(opinion("record-identity", cluster({ stage: "new" }))).toBeDefined();
  expect(opinion("record-identity", cluster({ stage: "new", spec: { replicas: 0 } }))).toBeUndefined();
});

test("await-restore: the message has the progress of the restore", () => {
  const given = restoring("Pending", { Failed: "nothing has failed", Complete: "1 of 3 claims is filled" });
  expect(opinion("await-restore", given)).toMatchObject({
    because: "EtcdRestore back fills its claims: 1 of 3 claims is filled",
  });
  expect(opinion("await-restore", restoring("Pending", {}))).toMatchObject({
    because: "EtcdRestore back fills its claims: it has not reported any progress yet",
  });
});

test("restore-failed: the message has the reason of the failure, or that the EtcdRestore has another owner", () => {
  const told = { Complete: "it has failed", Failed: "the object is not there" };
  expect(opinion("restore-failed", restoring("Failed", told))).toMatchObject({
    because: expect.stringContaining("EtcdRestore back has failed: the object is not there; delete it"),
  });
  expect(opinion("restore-failed", restoring("Failed", {}))).toMatchObject({
    because: expect.stringContaining("EtcdRestore back has failed: it states no reason; delete it"),
  });
  expect(opinion("restore-failed", restoring("Failed", told, "another"))).toMatchObject({
    because: expect.stringContaining("EtcdRestore back exists already and is not this cluster's"),
  });
});

test("restore-failed: when restored claims are gone, the message has the command to start empty", () => {
  const given = cluster({ stage: "new", annotations: { [RESTORED_FROM]: "uid-of-restore" } });
  const remedy = "kubectl annotate etcdcluster my-etcd etcd.improbable.io/restored-from-";
  expect(opinion("restore-failed", given)).toMatchObject({
    because: `it is to start with the data of the EtcdRestore with uid uid-of-restore (annotation etcd.improbable.io/restored-from), and it has no claim with that data; restore once more, under another name or when this EtcdCluster is gone, or start empty: ${remedy}`,
  });
  expect(opinion("restore-failed", { ...given, claims: [claim("my-etcd-0")] })).toBeUndefined();
});

test("adopted identity: later claims are adopted only when every adopted member has a bound claim", () => {
  expect(adoptedIdentity(returning())).toMatchObject({ adopting: true });
  expect(adoptedIdentity(returning("my-etcd-2"))).not.toHaveProperty("adopting");
});

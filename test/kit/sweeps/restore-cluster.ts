import { CLUSTER_LABEL, ETCD_CONTAINER, memberLabels, peerName, RESTORED_FROM } from "#api/names.ts";
import type { ClusterIdentity } from "#api/v1beta1/cluster.ts";
import { adoptedIdentity } from "#cluster/identity/desired/identity.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { type PersistentVolumeClaim, PODS } from "#kube/kinds.ts";
import { CLAIMS, CLUSTERS, NAME, type RestoreWorld } from "./restore-world.ts";

// The controllers of clusters and members, as far as a restore depends on them. Adoption of claims uses the real code.

/**
 * The cluster adopts the claims of its name, or starts empty. It is Ready when most of its members have their claims.
 */
export function formCluster(world: RestoreWorld): void {
  const { cluster } = world;
  if (cluster === undefined) return;
  const identity = cluster.status?.identity;
  if (identity === undefined) {
    const begun = begin(world);
    if (begun !== undefined) world.put(CLUSTERS, { ...cluster, status: { identity: begun } } as never);
    return;
  }
  const present = identity.initialMembers.filter(({ name }) => isTaken(world, name, identity.clusterID));
  const status = present.length * 2 > identity.initialMembers.length ? "True" : "False";
  if (cluster.status?.conditions?.[0]?.status === status) return;
  const why = { reason: "AllMembersHealthy", message: `${present.length} members`, observedGeneration: 1 };
  const conditions = [{ type: "Ready", status, ...why, lastTransitionTime: "2026-01-01T12:00:00Z" }];
  world.put(CLUSTERS, { ...cluster, status: { ...cluster.status, conditions } } as never);
  if (status === "True") world.served.add(identity.clusterID);
  for (const { name } of present) world.put(PODS.plural, memberPod(name) as never);
}

function isTaken(world: RestoreWorld, name: string, clusterID: string): boolean {
  const claim = world.find<PersistentVolumeClaim>(CLAIMS, name);
  return claim !== undefined && world.taken.get(claim.metadata.uid) === clusterID;
}

function begin(world: RestoreWorld): ClusterIdentity | undefined {
  const { cluster } = world;
  const kept = world.claims.filter(({ metadata }) => metadata.labels?.[CLUSTER_LABEL] === NAME);
  if (kept.length > 0) {
    const adopted = adoptedIdentity({ cluster, claims: kept } as unknown as ClusterSnapshot);
    if ("unclear" in adopted) return undefined;
    for (const claim of kept) take(world, claim, adopted.clusterID);
    return adopted;
  }
  if (cluster === undefined || cluster.spec.bootstrap !== undefined) return undefined;
  if (cluster.metadata.annotations?.[RESTORED_FROM] !== undefined) return undefined;
  const clusterID = `b0b-${cluster.metadata.uid}`;
  const initialMembers = [0, 1, 2].map((n) => ({ name: peerName(NAME, n), id: String(n), joined: false }));
  for (const { name, id } of initialMembers) take(world, world.makeClaim(name, clusterID, id), clusterID);
  return { clusterID, token: "t", initialMembers };
}

function take(
  world: RestoreWorld,
  { metadata: { uid, name, labels } }: PersistentVolumeClaim,
  clusterID: string,
): void {
  world.taken.set(uid, clusterID);
  const from = labels?.[RESTORED_FROM];
  if (from !== undefined && world.filled.get(uid) !== from)
    world.wrong.push(`${name} was adopted before it was filled`);
}

function memberPod(name: string) {
  const conditions = [{ type: "Ready", status: "True" }];
  const spec = {
    containers: [{ name: ETCD_CONTAINER }],
    volumes: [{ name: "d", persistentVolumeClaim: { claimName: name } }],
  };
  const metadata = { namespace: "foo", name: `${name}-pod`, labels: memberLabels(NAME, name) };
  return { apiVersion: "v1", kind: "Pod", metadata, spec, status: { phase: "Running", podIP: "10.0.0.1", conditions } };
}

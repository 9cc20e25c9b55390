import { ETCD_CLUSTERS, type EtcdCluster, type EtcdClusterStatus } from "#api/v1alpha1/cluster.ts";
import { ETCD_PEERS } from "#api/v1alpha1/peer.ts";
import { invariant } from "#base/invariant.ts";
import type { ClusterStep } from "#cluster/plan.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, type KubeObject, POD_DISRUPTION_BUDGETS, type Resource, SERVICES } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";
import type { Written } from "#runtime/controller.ts";

/** Does one step: exactly one write, with its precondition. */
export async function actOnCluster(
  kube: KubeClient,
  step: ClusterStep,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  switch (step.do) {
    case "recordIdentity":
      return await writeStatus(kube, snapshot, { ...snapshot.cluster.status, identity: step.identity }, signal);
    case "recordJoined":
      return await writeStatus(
        kube,
        snapshot,
        { ...snapshot.cluster.status, identity: withJoined(snapshot, step.names) },
        signal,
      );
    case "createService":
      return await create(kube, SERVICES, step.service, signal);
    case "replaceService":
      return stored(SERVICES, await kube.replace(SERVICES, replacing(step.live, step.service), { signal }));
    case "createBudget":
      return await create(kube, POD_DISRUPTION_BUDGETS, step.budget, signal);
    case "replaceBudget":
      return stored(
        POD_DISRUPTION_BUDGETS,
        await kube.replace(POD_DISRUPTION_BUDGETS, replacing(step.live, step.budget), { signal }),
      );
    case "createPeer":
      return await create(kube, ETCD_PEERS, step.peer, signal);
    case "replacePeer":
      return stored(ETCD_PEERS, await kube.replace(ETCD_PEERS, replacing(step.live, step.peer), { signal }));
  }
}

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: KubeClient,
  snapshot: ClusterSnapshot,
  status: EtcdClusterStatus,
  signal: AbortSignal,
): Promise<Written> {
  const cluster: EtcdCluster = { ...snapshot.cluster, status };
  return stored(ETCD_CLUSTERS, await kube.replace(ETCD_CLUSTERS, cluster, { signal, subresource: "status" }));
}

function withJoined(snapshot: ClusterSnapshot, names: readonly string[]): NonNullable<EtcdClusterStatus["identity"]> {
  const identity = identityOf(snapshot);
  invariant(identity !== undefined, "members join a cluster that has an identity");
  const initialMembers = identity.initialMembers.map((member) =>
    names.includes(member.name) ? { ...member, joined: true } : member,
  );
  return { ...identity, initialMembers };
}

/** POST, not apply: a name that somebody else took meanwhile is refused by the server instead of being taken over. */
async function create<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource<T>,
  draft: Draft<T>,
  signal: AbortSignal,
): Promise<Written> {
  return stored(resource, await kube.create(resource, draft, { signal }));
}

function stored<T extends KubeObject>(resource: Resource<T>, object: T): Written {
  return { kind: "stored", resource, object };
}

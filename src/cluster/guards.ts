import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import type { ClusterGuard } from "#cluster/plan.ts";
import { healthOf, identityOf, isOwned } from "#cluster/snapshot.ts";
import type { Draft } from "#kube/kinds.ts";

/** Nothing of a cluster is made before its identity is on record, and the identity is never written a second time. */
export const identityFirst: ClusterGuard = {
  name: "identity-first",
  forbids(snapshot, step) {
    const recorded = identityOf(snapshot);
    if (step.do === "recordIdentity") {
      return recorded === undefined ? undefined : `the cluster is ${recorded.clusterID} already`;
    }
    return recorded === undefined ? "the cluster's identity is not on record" : undefined;
  },
};

/** A cluster is bootstrapped once in its life: only by members of the frozen list, each only until it has joined. */
export const bootstrapOnce: ClusterGuard = {
  name: "bootstrap-once",
  forbids(snapshot, step) {
    const peer = peerIn(step);
    if (peer?.spec?.bootstrap?.initialClusterState !== "New") return undefined;
    const { name } = peer.metadata;
    const initial = identityOf(snapshot)?.initialMembers.find((member) => member.name === name);
    if (initial === undefined) return `${name} is not in the frozen list of first members`;
    if (initial.joined) return `${name} has joined; on an empty volume it would forget what it acknowledged`;
    return undefined;
  },
};

/** A member counts as joined only when it has just answered as the member and the cluster that are on record. */
export const joinedIsSeen: ClusterGuard = {
  name: "joined-is-seen",
  forbids(snapshot, step) {
    if (step.do !== "recordJoined") return undefined;
    const unseen = step.names.find((name) => {
      const member = identityOf(snapshot)?.initialMembers.find((initial) => initial.name === name);
      return member === undefined || healthOf(snapshot, name, member.id).is !== "healthy";
    });
    return unseen === undefined ? undefined : `${unseen} has not answered as part of this cluster`;
  },
};

/** What another owner manages is never changed. */
export const ownOnly: ClusterGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (!("live" in step) || isOwned(snapshot, step.live)) return undefined;
    return `${step.live.kind} ${step.live.metadata.name} is not this cluster's`;
  },
};

function peerIn(step: Parameters<ClusterGuard["forbids"]>[1]): Draft<EtcdPeer> | undefined {
  return step.do === "createPeer" || step.do === "replacePeer" ? step.peer : undefined;
}

/** THE invariants of a cluster. Each may hold back a step of any rule. */
export const CLUSTER_GUARDS: readonly ClusterGuard[] = [identityFirst, bootstrapOnce, joinedIsSeen, ownOnly];

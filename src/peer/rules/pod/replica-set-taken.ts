import { controllerText } from "#kube/kinds.ts";
import { isOwned } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Waits while a ReplicaSet of this name has another owner: it is never adopted. One of an earlier EtcdPeer of this name
 * is being deleted.
 */
export const replicaSetTaken: PeerRule = {
  name: "replica-set-taken",
  decide(snapshot) {
    const { replicaSet } = snapshot;
    if (replicaSet === undefined || isOwned(snapshot, replicaSet)) return undefined;
    const because = `ReplicaSet ${replicaSet.metadata.name} already exists: ${controllerText(replicaSet)}`;
    return wait("replica-set-taken", because, 2_000, { warn: true });
  },
};

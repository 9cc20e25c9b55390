import { ETCD_PEERS, type EtcdPeer, type EtcdPeerStatus } from "#api/v1alpha1/peer.ts";
import type { KubeClient } from "#kube/client.ts";
import { type KubeObject, PERSISTENT_VOLUME_CLAIMS, REPLICA_SETS, type Resource } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";
import type { PeerStep } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { Written } from "#runtime/controller.ts";

/** Does one step: exactly one write, with its precondition. */
export async function actOnPeer(kube: KubeClient, step: PeerStep, signal: AbortSignal): Promise<Written> {
  switch (step.do) {
    case "createClaim":
      // POST, not apply: a claim that appeared meanwhile holds somebody's data and is not to be changed.
      return stored(PERSISTENT_VOLUME_CLAIMS, await kube.create(PERSISTENT_VOLUME_CLAIMS, step.claim, { signal }));
    case "createReplicaSet":
      return stored(REPLICA_SETS, await kube.create(REPLICA_SETS, step.replicaSet, { signal }));
    case "replaceReplicaSet":
      return stored(REPLICA_SETS, await kube.replace(REPLICA_SETS, replacing(step.live, step.replicaSet), { signal }));
  }
}

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: KubeClient,
  snapshot: PeerSnapshot,
  status: EtcdPeerStatus,
  signal: AbortSignal,
): Promise<Written> {
  const peer: EtcdPeer = { ...snapshot.peer, status };
  return stored(ETCD_PEERS, await kube.replace(ETCD_PEERS, peer, { signal, subresource: "status" }));
}

function stored<T extends KubeObject>(resource: Resource<T>, object: T): Written {
  return { kind: "stored", resource, object };
}

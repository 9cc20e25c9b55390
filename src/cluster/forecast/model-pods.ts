import {
  CLEANUP_FINALIZER,
  ETCD_CONTAINER,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  memberLabels,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { without } from "#cluster/forecast/model-etcd.ts";
import { stored } from "#cluster/forecast/model-objects.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";

/** The snapshot in which EtcdPeers that were to go are gone, and what they own with them. */
export function cleared(snapshot: ClusterSnapshot): ClusterSnapshot {
  const going = snapshot.peers.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return going.reduce(withoutPeer, snapshot);
}

function withoutPeer(snapshot: ClusterSnapshot, peer: EtcdPeer): ClusterSnapshot {
  const { name, finalizers = [] } = peer.metadata;
  const isClaimGoing = finalizers.includes(CLEANUP_FINALIZER);
  return {
    ...snapshot,
    peers: snapshot.peers.filter((each) => each !== peer),
    pods: without(snapshot.pods, name),
    endpoints: without(snapshot.endpoints, name),
    claims: snapshot.claims.filter(({ metadata }) => !isClaimGoing || metadata.name !== name),
  };
}

/** The EtcdPeer, whose ReplicaSet has taken over what it says. */
export function takenOver(peer: EtcdPeer): EtcdPeer {
  return { ...peer, status: { ...peer.status, revision: revisionOf(peer.spec) } };
}

/** The pod of the member as it runs, and is ready: the one that there is, or else one that is made from its EtcdPeer. */
export function runningPod(snapshot: ClusterSnapshot, peer: EtcdPeer, before: Pod | undefined): Pod {
  const { metadata, ...pod } = before ?? newPod(snapshot, peer);
  // It has heard that its member may not bootstrap any more, if that is so.
  const fence = peer.spec.bootstrap === undefined ? { [INITIAL_CLUSTER_ANNOTATION]: FENCE } : {};
  const status = {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [{ name: ETCD_CONTAINER, state: { running: {} } }],
  } as NonNullable<Pod["status"]>;
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...fence } },
    status: { ...pod.status, ...status },
  };
}

function newPod({ cluster, takenAtMs }: ClusterSnapshot, { metadata, spec }: EtcdPeer): Pod {
  const { namespace, name } = metadata;
  return stored<Pod>({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name,
      creationTimestamp: rfc3339(takenAtMs),
      labels: memberLabels(cluster.metadata.name, name),
      annotations: { [REVISION_ANNOTATION]: revisionOf(spec) },
    },
  });
}

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
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";
import { without } from "./model-etcd.ts";
import { stored } from "./model-objects.ts";

/** The snapshot in which deleted EtcdPeers are gone, with everything that they own. */
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

/** The EtcdPeer after its ReplicaSet has its current template. */
export function takenOver(peer: EtcdPeer): EtcdPeer {
  return { ...peer, status: { ...peer.status, revision: revisionOf(peer.spec) } };
}

/** The pod of the member, running and ready: the current one, or one made from its EtcdPeer. */
export function runningPod(snapshot: ClusterSnapshot, peer: EtcdPeer, before: Pod | undefined): Pod {
  const { metadata, ...pod } = before ?? newPod(snapshot, peer);
  // A fenced member's pod has the fence annotation.
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

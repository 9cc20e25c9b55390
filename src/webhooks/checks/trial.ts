import { peerName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { newIdentity } from "#cluster/desired/identity.ts";
import { newPeer } from "#cluster/desired/peer.ts";
import { apiVersionOf, type Draft, type ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { newCluster } from "#webhooks/checks/new-cluster.ts";

/**
 * The ReplicaSet that the cluster's first member would get, to be asked for in a dry run.
 * @param suffix random, so that nothing has the name; lower-case letters and digits
 */
export function trialReplicaSet(cluster: EtcdCluster, imageRepository: string, suffix: string): Draft<ReplicaSet> {
  // How many members there are to be does not matter to the pod of one.
  const snapshot = newCluster({ ...cluster, spec: { ...cluster.spec, replicas: 1 } }, []);
  const { name, namespace } = cluster.metadata;
  const draft = newPeer(snapshot, newIdentity(snapshot), peerName(name, 0));
  const peer = { ...draft, metadata: { ...draft.metadata, namespace, uid: "", resourceVersion: "" } } as EtcdPeer;
  const wanted = replicaSet({
    takenAtMs: 0,
    peer: { ...peer, apiVersion: apiVersionOf(ETCD_PEERS), kind: ETCD_PEERS.kind },
    pausedBy: undefined,
    isAsleep: false,
    imageRepository,
    claim: undefined,
    replicaSet: undefined,
    pod: undefined,
    endpoint: undefined,
    storageClasses: undefined,
  });
  const { ownerReferences: _, ...metadata } = wanted.metadata; // there is no EtcdPeer that could own it
  return { ...wanted, metadata: { ...metadata, name: `${metadata.name}-trial-${suffix}` } };
}

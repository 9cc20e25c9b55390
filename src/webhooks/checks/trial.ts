import { peerName } from "#api/names.ts";
import { areClientsVerified, peerSecretName, serverSecretName } from "#api/tls.ts";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { withDefaultTls } from "#cluster/default-tls.ts";
import { newIdentity } from "#cluster/desired/identity.ts";
import { newPeer } from "#cluster/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { apiVersionOf, type Draft, type ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { unseenPeer } from "#peer/snapshot.ts";
import { newCluster } from "#webhooks/checks/new-cluster.ts";

/** What the cluster is tried out with: who is new, and says nothing of TLS, will speak it. */
export function triedSpec(asked: EtcdCluster): EtcdClusterSpec {
  return trialSnapshot(asked).cluster.spec;
}

/**
 * The ReplicaSet that the cluster's first member would get, to be asked for in a dry run.
 * @param suffix random, so that nothing has the name; lower-case letters and digits
 */
export function trialReplicaSet(asked: EtcdCluster, imageRepository: string, suffix: string): Draft<ReplicaSet> {
  const snapshot = trialSnapshot(asked);
  const { cluster } = snapshot;
  const { name, namespace } = cluster.metadata;
  const draft = newPeer(snapshot, newIdentity(snapshot), peerName(name, 0));
  const tls = certificates(cluster);
  const peer = {
    ...draft,
    metadata: { ...draft.metadata, namespace, uid: "", resourceVersion: "" },
    spec: { ...draft.spec, ...(tls === undefined ? {} : { tls }) },
  } as EtcdPeer;
  const wanted = replicaSet(
    unseenPeer({
      takenAtMs: 0,
      peer: { ...peer, apiVersion: apiVersionOf(ETCD_PEERS), kind: ETCD_PEERS.kind },
      imageRepository,
    }),
  );
  const { ownerReferences: _, ...metadata } = wanted.metadata; // there is no EtcdPeer that could own it
  return { ...wanted, metadata: { ...metadata, name: `${metadata.name}-trial-${suffix}` } };
}

function trialSnapshot(asked: EtcdCluster): ClusterSnapshot {
  // How many members there are to be does not matter to the pod of one.
  const single = newCluster({ ...asked, spec: { ...asked.spec, replicas: 1 } }, []);
  return asked.status?.identity === undefined ? withDefaultTls(single) : single;
}

/** Stands for an authority that nobody has made yet. */
const TRUST = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

/** The places of the certificates that the member would get; nothing that the API server looks at is in them. */
function certificates(cluster: EtcdCluster): EtcdPeerSpec["tls"] {
  const [peers, clients] = [peerSecretName(cluster), serverSecretName(cluster)];
  if (peers === undefined && clients === undefined) return undefined;
  const verifyClients = areClientsVerified(cluster.spec);
  return {
    ...(peers === undefined ? {} : { peer: { secretName: peers, trust: TRUST } }),
    ...(clients === undefined ? {} : { client: { secretName: clients, trust: TRUST, verifyClients } }),
  };
}

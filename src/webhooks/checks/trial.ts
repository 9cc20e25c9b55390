import { peerName } from "#api/names.ts";
import { clientCertificatesOf, peerSecretName, serverSecretName } from "#api/tls.ts";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { newPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { withDefaultTls } from "#cluster-tls/effective/default-tls.ts";
import { apiVersionOf, type Draft, type ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { unseenPeer } from "#peer/snapshot.ts";
import { newCluster } from "#webhooks/checks/new-cluster.ts";

/** The spec of the dry run: a new cluster without spec.tls gets the default TLS. */
export function triedSpec(asked: EtcdCluster): EtcdClusterSpec {
  return trialSnapshot(asked).cluster.spec;
}

/**
 * The ReplicaSet of the cluster's first member, for a dry run.
 * @param suffix random, so that the name is free; lower-case letters and digits
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
  const { ownerReferences: _, ...metadata } = wanted.metadata; // no EtcdPeer exists to own it
  return { ...wanted, metadata: { ...metadata, name: `${metadata.name}-trial-${suffix}` } };
}

function trialSnapshot(asked: EtcdCluster): ClusterSnapshot {
  // The number of members does not affect the pod.
  const single = newCluster({ ...asked, spec: { ...asked.spec, replicas: 1 } }, []);
  return asked.status?.identity === undefined ? withDefaultTls(single) : single;
}

/** Placeholder for a CA that does not exist yet. */
const TRUST = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

/** The TLS part of the EtcdPeer. The API server checks nothing in it. */
function certificates(cluster: EtcdCluster): EtcdPeerSpec["tls"] {
  const [peers, clients] = [peerSecretName(cluster), serverSecretName(cluster)];
  if (peers === undefined && clients === undefined) return undefined;
  const clientCertificates = clientCertificatesOf(cluster.spec);
  return {
    ...(peers === undefined ? {} : { peer: { secretName: peers, trust: TRUST } }),
    ...(clients === undefined ? {} : { client: { secretName: clients, trust: TRUST, clientCertificates } }),
  };
}

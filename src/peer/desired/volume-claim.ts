import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  claimLabels,
  PEER_SCHEME_ANNOTATION,
} from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import type { Draft, PersistentVolumeClaim } from "#kube/kinds.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

/**
 * The member's claim. It has no owner, so no deletion cascades to the data. Its annotations identify cluster and
 * member, so that no other cluster starts on it.
 */
export function volumeClaim({ peer }: PeerSnapshot): Draft<PersistentVolumeClaim> {
  const { namespace, name } = peer.metadata;
  const { clusterName, clusterID, clusterToken, memberID, storage } = peer.spec;
  const identity = {
    [CLAIM_CLUSTER_ID_ANNOTATION]: clusterID,
    [CLAIM_CLUSTER_TOKEN_ANNOTATION]: clusterToken,
    [CLAIM_MEMBER_ID_ANNOTATION]: memberID,
    [PEER_SCHEME_ANNOTATION]: reachedBy(peer.spec) === "https" ? "https" : undefined,
  };
  const annotations = Object.fromEntries(
    Object.entries(identity).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace, name, labels: claimLabels(clusterName, name), annotations },
    spec: claimSpec(storage),
  };
}

function claimSpec({ size, ...rest }: EtcdPeerSpec["storage"]): NonNullable<PersistentVolumeClaim["spec"]> {
  // The other fields have the same names as in a PersistentVolumeClaim.
  return { ...rest, volumeMode: "Filesystem", resources: { requests: { storage: size } } } as NonNullable<
    PersistentVolumeClaim["spec"]
  >;
}

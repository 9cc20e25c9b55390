import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  clusterToken,
  PEER_SCHEME_ANNOTATION,
  peerHost,
  peerName,
  peerUrl,
} from "#api/names.ts";
import { peerSchemeOf } from "#api/tls.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import { identityFor } from "#etcd/identity.ts";
import { hexOf } from "#etcd/types.ts";

// Who will the cluster be?
//   Members that are restored together are as those of a new cluster: their IDs come from their URLs and the token. The uid of the
//   EtcdRestore is in the token, so no other cluster ever had, or will have, the same ones. etcdutl writes them into the data, so a member
//   has joined before it is started first: it is fenced from birth.

export interface RestoredIdentity {
  readonly token: string;
  /** In hexadecimal. */
  readonly clusterID: string;
  readonly members: readonly { readonly name: string; readonly url: string; readonly id: string }[];
}

/** Names of the members: ordinals 0, 1, 2, … */
export function memberNames({ spec }: EtcdRestore): readonly string[] {
  const { clusterName, spec: cluster } = spec.clusterTemplate;
  return Array.from({ length: cluster.replicas }, (_, ordinal) => peerName(clusterName, ordinal));
}

/** Who the cluster will be. */
export function restoredIdentity(restore: EtcdRestore): RestoredIdentity {
  const { namespace, uid } = restore.metadata;
  const { clusterName, spec: cluster } = restore.spec.clusterTemplate;
  const token = clusterToken(namespace, clusterName, uid);
  const urlOf = (name: string) => peerUrl(peerHost(namespace, clusterName, name), peerSchemeOf(cluster));
  const identity = identityFor({
    token,
    members: memberNames(restore).map((name) => ({ name, peerUrl: urlOf(name) })),
  });
  return {
    token,
    clusterID: hexOf(identity.clusterId),
    members: identity.members.map(({ name, peerUrl: url, id }) => ({ name, url, id: hexOf(id) })),
  };
}

/** What the claim of this member says, once it is filled, of whose data it holds. */
export function identityAnnotations(restore: EtcdRestore, name: string): Readonly<Record<string, string>> {
  const { token, clusterID, members } = restoredIdentity(restore);
  const id = members.find((member) => member.name === name)?.id ?? "";
  return {
    [CLAIM_CLUSTER_ID_ANNOTATION]: clusterID,
    [CLAIM_CLUSTER_TOKEN_ANNOTATION]: token,
    [CLAIM_MEMBER_ID_ANNOTATION]: id,
    ...(peerSchemeOf(restore.spec.clusterTemplate.spec) === "http" ? {} : { [PEER_SCHEME_ANNOTATION]: "https" }),
  };
}

import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  clusterToken,
  PEER_SCHEME_ANNOTATION,
  peerHost,
  peerName,
  peerUrl,
  type Scheme,
} from "#api/names.ts";
import { DEFAULT_TLS, peerSchemeOf } from "#api/tls.ts";
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

/**
 * The spec of the cluster that is made. As any new one it speaks TLS when nobody has said whether it does; a restore that was begun by an operator
 * that knew nothing of that goes on as it has begun, since the IDs of the members are in their data.
 */
export function restoredSpec(restore: EtcdRestore): EtcdRestore["spec"]["clusterTemplate"]["spec"] {
  const { spec } = restore.spec.clusterTemplate;
  if (spec.tls !== undefined || restore.status?.clusterID === identityBy(restore, "http").clusterID) return spec;
  return { ...spec, tls: DEFAULT_TLS };
}

/** Who the cluster will be. */
export function restoredIdentity(restore: EtcdRestore): RestoredIdentity {
  return identityBy(restore, peerSchemeOf(restoredSpec(restore)));
}

/** @param scheme how its members reach each other */
function identityBy(restore: EtcdRestore, scheme: Scheme): RestoredIdentity {
  const { namespace, uid } = restore.metadata;
  const { clusterName } = restore.spec.clusterTemplate;
  const token = clusterToken(namespace, clusterName, uid);
  const urlOf = (name: string) => peerUrl(peerHost(namespace, clusterName, name), scheme);
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
    ...(peerSchemeOf(restoredSpec(restore)) === "http" ? {} : { [PEER_SCHEME_ANNOTATION]: "https" }),
  };
}

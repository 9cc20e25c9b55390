import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLAIM_RELEASE_ANNOTATION,
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

// Which identity will the cluster have?
//   Restored members are like the first members of a new cluster. Their IDs are derived from their URLs and the cluster
//   token. The token contains the EtcdRestore's uid, so no other cluster has, had or will have the same IDs. The data
//   that etcdutl writes has the IDs. So a member has joined before its first start, and is always fenced.

export interface RestoredIdentity {
  readonly token: string;
  /** Hexadecimal. */
  readonly clusterID: string;
  readonly members: readonly { readonly name: string; readonly url: string; readonly id: string }[];
}

/** Names of the members: ordinals 0, 1, 2, … */
export function memberNames({ spec }: EtcdRestore): readonly string[] {
  const { clusterName, spec: cluster } = spec.clusterTemplate;
  return Array.from({ length: cluster.replicas }, (_, ordinal) => peerName(clusterName, ordinal));
}

/**
 * Spec of the created cluster. Like any new cluster it uses TLS unless spec.tls is set. A restore begun by an
 * operator that did not know this default keeps http, since the member IDs in the data depend on it.
 */
export function restoredSpec(restore: EtcdRestore): EtcdRestore["spec"]["clusterTemplate"]["spec"] {
  const { spec } = restore.spec.clusterTemplate;
  if (spec.tls !== undefined || restore.status?.clusterID === identityBy(restore, "http").clusterID) return spec;
  return { ...spec, tls: DEFAULT_TLS };
}

/** Identity of the restored cluster. */
export function restoredIdentity(restore: EtcdRestore): RestoredIdentity {
  return identityBy(restore, peerSchemeOf(restoredSpec(restore)));
}

/** @param scheme scheme of the members' peer URLs */
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

/** Annotations of the member's claim once it is filled: the identity of the cluster and member with this data. */
export function identityAnnotations(restore: EtcdRestore, name: string): Readonly<Record<string, string>> {
  const { token, clusterID, members } = restoredIdentity(restore);
  const id = members.find((member) => member.name === name)?.id ?? "";
  return {
    [CLAIM_CLUSTER_ID_ANNOTATION]: clusterID,
    [CLAIM_CLUSTER_TOKEN_ANNOTATION]: token,
    [CLAIM_MEMBER_ID_ANNOTATION]: id,
    // Release of the etcdutl that wrote the data.
    [CLAIM_RELEASE_ANNOTATION]: restoredSpec(restore).version,
    ...(peerSchemeOf(restoredSpec(restore)) === "http" ? {} : { [PEER_SCHEME_ANNOTATION]: "https" }),
  };
}

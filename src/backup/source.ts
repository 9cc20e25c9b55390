import type { BackupReason } from "#api/conditions.ts";
import { clientServiceName, clientUrl, isAuthorityName, peerHost } from "#api/names.ts";
import { reachOf } from "#backup/reach.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";

/** Why no snapshot can be taken of the source. */
export interface Lack {
  readonly reason: BackupReason;
  readonly message: string;
}

/**
 * Problem with the named EtcdCluster; `undefined` when a snapshot can be taken. A member without quorum would answer,
 * but may lack acknowledged writes. A full database can be read.
 */
export function lackOfSource({ backup, cluster }: BackupSnapshot): Lack | undefined {
  const clusterName = backup.spec.source.cluster?.name;
  if (clusterName === undefined) return undefined;
  if (cluster === undefined)
    return { reason: "ClusterNotFound", message: `this namespace has no EtcdCluster ${clusterName}` };
  const { identity, members = [], conditions = [] } = cluster.status ?? {};
  if (identity === undefined || !members.some(({ role }) => role !== "Learner"))
    return { reason: "ClusterNotFormed", message: `EtcdCluster ${clusterName} has not formed yet` };
  const available = conditions.find(({ type }) => type === "Available");
  if (available?.status === "True" || available?.reason === "NoSpaceAlarm") return undefined;
  // The operator fails to observe the cluster, which may be healthy: the agent finds out.
  if (available?.reason === "InternalError") return undefined;
  if (available?.reason === "Forming")
    return { reason: "ClusterNotFormed", message: `EtcdCluster ${clusterName} has not formed yet` };
  const why = available === undefined ? "its status has no condition Available" : available.message;
  return { reason: "NoQuorum", message: `EtcdCluster ${clusterName} is not available: ${why}` };
}

/** Client URLs of the source: all voters, healthy or not; the agent chooses a healthy one. */
export function endpointsOf({ backup, cluster }: BackupSnapshot): readonly string[] {
  const { cluster: named, external } = backup.spec.source;
  // The operator of 2020 accepted addresses without a scheme.
  if (named === undefined)
    return (external?.endpoints ?? []).map((url) => (/^https?:\/\//.test(url) ? url : `http://${url}`));
  const voters = (cluster?.status?.members ?? []).filter(({ role }) => role !== "Learner");
  const hosts = voters.map(({ name }) => peerHost(backup.metadata.namespace, named.name, name));
  // Members change while an archive runs; the client Service leads to the current ones.
  const service = `${clientServiceName(named.name)}.${backup.metadata.namespace}.svc`;
  const scheme = cluster === undefined ? "http" : reachOf(cluster).scheme;
  return [...hosts, ...(backup.spec.archive === undefined ? [] : [service])].map((host) => clientUrl(host, scheme));
}

/**
 * Secret for TLS to the source: the one named in the backup, or for an EtcdCluster the operator's own client
 * certificate.
 */
export function sourceSecret({ backup, cluster }: BackupSnapshot): { name: string; isOptional: boolean } | undefined {
  const { cluster: named, external } = backup.spec.source;
  // For another etcd it may lack keys; the agent reports which one is missing.
  const name = named === undefined ? external?.tls?.secretName : cluster && reachOf(cluster).secretName;
  return name === undefined ? undefined : { name, isOptional: named === undefined };
}

/** Why the named Secret must not be mounted: the key of a CA could issue any identity. */
export function authorityText({ backup }: BackupSnapshot): string | undefined {
  const name = backup.spec.source.external?.tls?.secretName;
  if (name === undefined || !isAuthorityName(name)) return undefined;
  return `spec.source.external.tls.secretName is ${name}, the name of the Secret of an EtcdCluster's CA; the key of a CA must stay private; use another Secret`;
}

/** For users: the cluster's name, or the first endpoint. */
export function sourceText({ backup }: BackupSnapshot): string {
  const { cluster, external } = backup.spec.source;
  return cluster?.name ?? external?.endpoints[0] ?? "";
}

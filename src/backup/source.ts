import type { BackupReason } from "#api/conditions.ts";
import { clientServiceName, clientUrl, isAuthorityName, peerHost } from "#api/names.ts";
import { reachOf } from "#backup/reach.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";

/** Why no snapshot can be taken of the source by now. */
export interface Lack {
  readonly reason: BackupReason;
  readonly message: string;
}

/**
 * What is missing of the EtcdCluster that is named; `undefined` when a snapshot can be taken. A member would give one without a quorum,
 * too, and it could lack what was acknowledged. A database that is full can be read.
 */
export function lackOfSource({ backup, cluster }: BackupSnapshot): Lack | undefined {
  const { clusterName } = backup.spec.source;
  if (clusterName === undefined) return undefined;
  if (cluster === undefined)
    return { reason: "ClusterNotFound", message: `there is no EtcdCluster ${clusterName} in this namespace` };
  const { identity, members = [], conditions = [] } = cluster.status ?? {};
  if (identity === undefined || !members.some(({ learner }) => !learner))
    return { reason: "ClusterNotFormed", message: `EtcdCluster ${clusterName} has not formed yet` };
  const available = conditions.find(({ type }) => type === "Available");
  if (available?.status === "True" || available?.reason === "NoSpaceAlarm") return undefined;
  // The operator fails to look after the cluster, which may be well: the agent finds out.
  if (available?.reason === "InternalError") return undefined;
  if (available?.reason === "Forming")
    return { reason: "ClusterNotFormed", message: `EtcdCluster ${clusterName} has not formed yet` };
  const why = available === undefined ? "nothing is known of it yet" : available.message;
  return { reason: "NoQuorum", message: `EtcdCluster ${clusterName} is not available: ${why}` };
}

/** Where the source is asked: the voting members of the cluster, whether or not they are well, which the agent finds out. */
export function endpointsOf({ backup, cluster }: BackupSnapshot): readonly string[] {
  const { clusterName, endpoints = [] } = backup.spec.source;
  // The operator of 2020 took an address without a scheme.
  if (clusterName === undefined) return endpoints.map((url) => (/^https?:\/\//.test(url) ? url : `http://${url}`));
  const voters = (cluster?.status?.members ?? []).filter(({ learner }) => !learner);
  const hosts = voters.map(({ name }) => peerHost(backup.metadata.namespace, clusterName, name));
  // Members come and go while an archive is made; the Service leads to whoever is there.
  const service = `${clientServiceName(clusterName)}.${backup.metadata.namespace}.svc`;
  const scheme = cluster === undefined ? "http" : reachOf(cluster).scheme;
  return [...hosts, ...(backup.spec.archive === undefined ? [] : [service])].map((host) => clientUrl(host, scheme));
}

/** The Secret with which its members are asked over TLS: what the backup names, or, for an EtcdCluster, what the operator itself shows there. */
export function sourceSecret({ backup, cluster }: BackupSnapshot): { name: string; isOptional: boolean } | undefined {
  const { clusterName, tls } = backup.spec.source;
  // Of somebody else's etcd it may have only some of the keys, and the agent says which it lacks.
  const name = clusterName === undefined ? tls?.secretName : cluster && reachOf(cluster).secretName;
  return name === undefined ? undefined : { name, isOptional: clusterName === undefined };
}

/** Why what is named may not be mounted: who has the key of an authority is whom it likes to be. */
export function authorityText({ backup }: BackupSnapshot): string | undefined {
  const name = backup.spec.source.tls?.secretName;
  if (name === undefined || !isAuthorityName(name)) return undefined;
  return `spec.source.tls.secretName is ${name}, which is the name of an authority of an EtcdCluster, whose key nobody gets; it must be another Secret`;
}

/** For people: the cluster, or the first of the endpoints. */
export function sourceText({ backup }: BackupSnapshot): string {
  const { clusterName, endpoints = [] } = backup.spec.source;
  return clusterName ?? endpoints[0] ?? "";
}

import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

type Replicas = Pick<EtcdClusterSpec, "replicas">;

/** Warns of an unfavourable number of members. @param before the stored spec; undefined for a new cluster */
export function replicaWarnings({ replicas }: Replicas, before: Replicas | undefined): readonly string[] {
  if (replicas === before?.replicas) return [];
  if (replicas === 1) {
    return [
      "spec.replicas is 1: each restart of the member is an outage, and the loss of its volume loses the data; use 3 or 5",
    ];
  }
  if (replicas === 0) {
    const stops = "all members stop, and clients are not served until it is 1 or more; data and identity are kept";
    return [`spec.replicas is 0: ${before === undefined ? "no member is created until it is 1 or more" : stops}`];
  }
  if (replicas % 2 === 1) return [];
  return [
    `spec.replicas is ${replicas}: it tolerates the loss of no more members than ${replicas - 1}, and writes wait for one more; use an odd number`,
  ];
}

import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

type Replicas = Pick<EtcdClusterSpec, "replicas">;

/** What is unwise about the number of members. @param before what it was; undefined for a new cluster */
export function replicaWarnings({ replicas }: Replicas, before: Replicas | undefined): readonly string[] {
  if (replicas === before?.replicas) return [];
  if (replicas === 1) {
    return [
      "spec.replicas is 1: each restart of the member is an outage, and with its volume the data is lost; use 3 or 5",
    ];
  }
  if (replicas === 0) {
    const stops = "all members stop, and nobody is served until it is 1 or more; their data and identity are kept";
    return [`spec.replicas is 0: ${before === undefined ? "nothing is made until it is 1 or more" : stops}`];
  }
  if (replicas % 2 === 1) return [];
  return [
    `spec.replicas is ${replicas}: it stands the loss of no more members than ${replicas - 1} would, and writes wait for one more; use an odd number`,
  ];
}

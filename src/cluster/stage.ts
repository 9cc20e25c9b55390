import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { Stage } from "#runtime/urgency.ts";

/** How far the cluster has come, by its own word. @param cluster undefined: it is gone */
export function clusterStage(cluster: EtcdCluster | undefined): Stage {
  if (cluster === undefined) return "settled";
  const { metadata, status } = cluster;
  const members = status?.identity?.initialMembers;
  if (members === undefined) return "new";
  const joined = members.filter((member) => member.joined).length;
  // A founder is told as joined once it was seen; a majority of them is the cluster.
  if (joined < quorumOf(members.length)) return "underWay";
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const isDone = ready?.status === "True" && ready.observedGeneration === (metadata.generation ?? 0);
  return isDone ? "settled" : "finishing";
}

import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { Stage } from "#runtime/urgency.ts";

/** The stage of the cluster, from its status. @param cluster undefined when it is deleted */
export function clusterStage(cluster: EtcdCluster | undefined): Stage {
  if (cluster === undefined) return "settled";
  const { metadata, status } = cluster;
  const members = status?.identity?.initialMembers;
  if (members === undefined) return "new";
  const joined = members.filter((member) => member.joined).length;
  // A first member counts as joined once it was observed; a majority of them is a formed cluster.
  if (joined < quorumOf(members.length)) return "underWay";
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const isDone = ready?.status === "True" && ready.observedGeneration === (metadata.generation ?? 0);
  return isDone ? "settled" : "finishing";
}

import type { ReplicaSet } from "#kube/kinds.ts";
import { isNewsOf } from "#runtime/news.ts";

/** Of a ReplicaSet: what it asks for, whether its controller has seen that, and why it makes no pod. What it counts the pod itself tells. */
export const isNewsOfReplicaSet = isNewsOf<ReplicaSet>(({ spec, status }) => [
  spec,
  status?.observedGeneration,
  status?.conditions,
]);

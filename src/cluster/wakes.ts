import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { PodDisruptionBudget } from "#kube/kinds.ts";
import { isNewsOf } from "#runtime/news.ts";

// Which changes of what belongs to a cluster are worth a look at it? Each takes a question to every member.

/** Of an EtcdPeer: what is asked of the member, from what its next pod is made, and what is in its way. That all is well etcd itself says. */
export const isNewsOfPeer = isNewsOf<EtcdPeer>(({ spec, status }) => {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const hindrance = ready?.status === "False" ? [ready.reason, ready.message] : [];
  return [spec, status?.revision, hindrance];
});

/** Of a PodDisruptionBudget: what it asks for, and whether its controller has seen that. How many pods are well by now changes with each of them. */
export const isNewsOfBudget = isNewsOf<PodDisruptionBudget>(({ spec, status }) => [spec, status?.observedGeneration]);

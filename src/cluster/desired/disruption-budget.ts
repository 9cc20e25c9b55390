import { isStale, withHash } from "#api/applied-hash.ts";
import { clusterLabels, disruptionBudgetName, memberSelector } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import { isLeaving, votersOf } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { Draft, PodDisruptionBudget } from "#kube/kinds.ts";
import { hasRun } from "#kube/pod.ts";

/**
 * Lets drains and autoscalers evict members one after another, never below quorum.
 * It says `minAvailable` and not `maxUnavailable`: the latter is counted from the pods that happen to exist, so that it permits more
 * and more evictions while pods are missing.
 */
export function disruptionBudget(snapshot: ClusterSnapshot): Draft<PodDisruptionBudget> {
  const { namespace, name } = snapshot.cluster.metadata;
  const minAvailable = neededPods(snapshot);
  return withHash<PodDisruptionBudget>({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: {
      namespace,
      name: disruptionBudgetName(name),
      labels: clusterLabels(name),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: { minAvailable, selector: { matchLabels: memberSelector(name) } },
  });
}

/**
 * Kubernetes counts pods and knows nothing of votes: a learner's pod is ready like any other, and so is that of a member that was
 * removed a moment ago. Pods without a vote are therefore asked for on top, those included that are about to lose theirs or to
 * get one: the number holds before the change as well as after it.
 */
function neededPods(snapshot: ClusterSnapshot): number {
  const voters = votersOf(snapshot);
  const staying = voters.filter(({ name }) => !isLeaving(snapshot, name));
  const names = new Set(staying.map(({ name }) => name));
  const others = [...snapshot.pods].filter(([name, pod]) => !names.has(name) && hasRun(pod)).length;
  return Math.max(quorumOf(Math.max(voters.length, 1)), quorumOf(Math.max(staying.length, 1)) + others);
}

/** Whether the live budget has to be written: our wish has changed, or somebody changed what it protects. */
export function budgetDiffers(live: PodDisruptionBudget, wanted: Draft<PodDisruptionBudget>): boolean {
  return isStale(live, wanted) || fingerprint(essence(live)) !== fingerprint(essence(wanted));
}

function essence({ spec }: Pick<Draft<PodDisruptionBudget>, "spec">) {
  return {
    minAvailable: spec?.minAvailable,
    maxUnavailable: spec?.maxUnavailable,
    matchLabels: spec?.selector?.matchLabels,
  };
}

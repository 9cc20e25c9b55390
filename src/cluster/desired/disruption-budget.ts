import { isStale, withHash } from "#api/applied-hash.ts";
import { clusterLabels, disruptionBudgetName, memberSelector } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import { isInSync, ownArriving } from "#cluster/learners.ts";
import { votersOf } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { Draft, PodDisruptionBudget } from "#kube/kinds.ts";

/**
 * Lets drains and autoscalers evict members one after another, never below quorum.
 * `minAvailable`, not `maxUnavailable`: the latter is counted from the pods that happen to exist, so that it permits more
 * and more evictions while pods are missing.
 */
export function disruptionBudget(snapshot: ClusterSnapshot): Draft<PodDisruptionBudget> {
  const { namespace, name } = snapshot.cluster.metadata;
  const minAvailable = quorumOf(Math.max(votersSoon(snapshot), 1));
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

/** A learner that is about to get its vote is counted before: between the two an eviction could take the quorum. */
function votersSoon(snapshot: ClusterSnapshot): number {
  const soon = ownArriving(snapshot).filter((member) => member.isLearner && isInSync(snapshot, member));
  return votersOf(snapshot).length + soon.length;
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

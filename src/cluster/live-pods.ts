import { CLUSTER_LABEL } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { PODS, type Pod } from "#kube/kinds.ts";
import { outOfDate } from "#kube/out-of-date.ts";

// What the API server says of the pods of a cluster, right before somebody goes by what a cache says of them: that may be behind.

type Kube = Pick<KubeClient, "list">;

/** The current pod of each member that has one by now, by peer name. */
async function livePods(
  kube: Kube,
  { cluster }: ClusterSnapshot,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Pod>> {
  const { namespace, name } = cluster.metadata;
  const query = { namespace, labelSelector: `${CLUSTER_LABEL}=${name}` };
  return currentPods((await kube.list(PODS, query, { signal })).items);
}

/** Whoever is put back for what is known of its pod has that pod, as the cache shows it; or has none, if the cache shows none. */
export async function needPodAsSeen(
  kube: Kube,
  snapshot: ClusterSnapshot,
  { name }: { name: string },
  signal: AbortSignal,
): Promise<void> {
  const cached = snapshot.pods.get(name)?.metadata;
  const live = (await livePods(kube, snapshot, signal)).get(name)?.metadata;
  if (live?.uid === cached?.uid && live?.resourceVersion === cached?.resourceVersion) return;
  if (cached !== undefined) throw outOfDate(PODS, cached, `the pod of ${name} has changed`);
  throw new OperatorError("KubeConflict", `pod ${live?.name}, which no cache knows, is there`);
}

import { isUnreported, stateOf } from "#backup/job-state.ts";
import type { Attempted } from "#backup/snapshot.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import type { KubeClient } from "#kube/client.ts";
import { controllerOf, PODS } from "#kube/kinds.ts";

// What a Job's pod has reported is told for ever, and so is that its report is lost, or why its last attempt has failed. The cache of pods may be
// behind that of Jobs by more than anybody waits: before such a word the API server is asked.

/** By the Job controller, on each pod that it makes: https://kubernetes.io/docs/reference/labels-annotations-taints/ */
const JOB_UID_LABEL = "batch.kubernetes.io/controller-uid";

/**
 * The attempt, with its pods as the API server has them when the Job has failed, or its report is to be taken for lost; else as it is.
 * @returns absent when there is no Job
 */
export async function reported<T extends Attempted | undefined>(
  kube: Pick<KubeClient, "list">,
  attempted: T,
  nowMs: number,
  signal: AbortSignal,
): Promise<Observed<T>> {
  if (attempted === undefined || !isToBeAsked(attempted, nowMs)) return present(attempted);
  const { namespace = "", uid } = attempted.job.metadata;
  const query = { namespace, labelSelector: `${JOB_UID_LABEL}=${uid}` };
  try {
    const { items } = await kube.list(PODS, query, { signal });
    return present({ ...attempted, pods: items.filter((pod) => controllerOf(pod)?.uid === uid) });
  } catch (thrown) {
    if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
    return unknown(thrown.message);
  }
}

/** Of a Job that has failed the cache may show an earlier attempt, which had another reason. */
function isToBeAsked(attempted: Attempted, nowMs: number): boolean {
  return stateOf(attempted.job) === "failed" || isUnreported({ takenAtMs: nowMs }, attempted);
}

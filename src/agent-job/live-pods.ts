import { type Attempted, isUnreported, stateOf } from "#agent-job/job-state.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import type { KubeClient } from "#kube/client.ts";
import { controllerOf, PODS } from "#kube/kinds.ts";

// Reports of pods become final conditions: success, a lost report, or the failure of the last attempt. The pod cache
// may lag behind the Job cache for longer than the wait, so the API server is asked first.

/** Set by the Job controller on each of its pods: https://kubernetes.io/docs/reference/labels-annotations-taints/ */
const JOB_UID_LABEL = "batch.kubernetes.io/controller-uid";

/**
 * The attempt; its pods are read from the API server when the Job has failed, or when its report would count as lost.
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

/** For a failed Job, the cache may show an earlier attempt, which had another reason. */
function isToBeAsked(attempted: Attempted, nowMs: number): boolean {
  return stateOf(attempted) === "failed" || isUnreported({ takenAtMs: nowMs }, attempted);
}

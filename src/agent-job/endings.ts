import { type Attempted, isToBeStopped, lingeringPod, stateOf } from "#agent-job/job-state.ts";
import type { Job, Pod } from "#kube/kinds.ts";
import { type Proposed, step } from "#runtime/decide.ts";

// Jobs and pods that the operator ends, since Kubernetes does not know that their work is over.

type Attempts = readonly (Attempted | undefined)[];

/** Deletes the first of these Jobs that still runs. @param because why their work is over */
export function endJobOf(attempts: Attempts, because: string): Proposed<{ do: "deleteJob"; job: Job }> | undefined {
  const job = attempts.find((each) => each !== undefined && isToBeStopped(each))?.job;
  return job && step(`${because}; Job ${job.metadata.name} still runs and is deleted`, { do: "deleteJob", job });
}

/** Deletes the first lingering pod with a failed agent, if a retry may help. The Job creates the next pod. */
export function endPodOf(attempts: Attempts): Proposed<{ do: "deletePod"; pod: Pod }> | undefined {
  const failed = attempts.filter((each) => each !== undefined).filter((each) => stateOf(each) === "active");
  const lingering = failed.flatMap((each) => lingeringPod(each) ?? []);
  const pod = lingering.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (pod === undefined) return undefined;
  const running = (pod.status?.containerStatuses ?? []).filter(({ state }) => state?.running !== undefined);
  const names = running.map(({ name }) => name).join(", ");
  const because = `the agent in pod ${pod.metadata.name} has failed, and container ${names} keeps the pod running; the pod is deleted, so that its Job tries again`;
  return step(because, { do: "deletePod", pod });
}

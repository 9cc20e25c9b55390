import { restoreJob } from "#restore/desired/job.ts";
import { objectOf } from "#restore/object.ts";
import { isComplete } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Creates a Job per claim, on a node where the member can run; it retries when its pod is lost. All Jobs run in
 * parallel.
 */
export const fillClaim: RestoreRule = {
  name: "fill-claim",
  decide(snapshot) {
    const { agentImage } = snapshot;
    const object = objectOf(snapshot);
    if (isComplete(snapshot) || agentImage === undefined || typeof object === "string") return undefined;
    const next = snapshot.members.find(({ claim, filling }) => filling === undefined && claim !== undefined);
    if (next === undefined) return undefined;
    const job = restoreJob(snapshot, next, object, agentImage);
    const because = `claim ${next.name} is filled with the snapshot ${object.target.url}`;
    return step("fill-claim", because, { do: "createJob", job, member: next.name });
  },
};

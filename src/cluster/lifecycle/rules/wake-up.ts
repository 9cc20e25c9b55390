import { isToSleep } from "#api/sleep.ts";
import { knownMembers } from "#cluster/members/members.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Records the wake-up when spec.replicas is no longer 0: all members start, and the time to wait for them counts from
 * then.
 */
export const wakeUp: ClusterRule = {
  name: "wake-up",
  decide(snapshot) {
    const { cluster } = snapshot;
    const sleep = cluster.status?.sleep;
    if (sleep === undefined || sleep.wakeTime !== undefined || isToSleep(cluster)) return undefined;
    const names = knownMembers(snapshot).flatMap(({ name, isOurs }) => (isOurs ? [name] : []));
    const because = `spec.replicas is ${cluster.spec.replicas}: ${names.join(", ")} start again with their data`;
    return step(because, { do: "wakeUp" });
  },
};

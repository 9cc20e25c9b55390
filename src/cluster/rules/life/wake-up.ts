import { isToSleep } from "#api/sleep.ts";
import { knownMembers } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Members are wanted again: all who slept start, and from when on they are waited for is put on record. */
export const wakeUp: ClusterRule = {
  name: "wake-up",
  decide(snapshot) {
    const { cluster } = snapshot;
    const sleep = cluster.status?.sleep;
    if (sleep === undefined || sleep.wokenAt !== undefined || isToSleep(cluster)) return undefined;
    const names = knownMembers(snapshot).flatMap(({ name, isOurs }) => (isOurs ? [name] : []));
    const because = `spec.replicas is ${cluster.spec.replicas}: ${names.join(", ")} start again with their data`;
    return step("wake-up", because, { do: "wakeUp" });
  },
};

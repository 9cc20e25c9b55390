import { isToSleep } from "#api/sleep.ts";
import { knownMembers } from "#cluster/members.ts";
import { isForming } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Nobody is wanted: that the cluster sleeps is put on record, and then its members are stopped. Nothing of its membership changes. */
export const fallAsleep: ClusterRule = {
  name: "fall-asleep",
  holds: true,
  decide(snapshot) {
    // What has begun to form forms first: until then nobody knows who has data.
    if (!isToSleep(snapshot.cluster) || isForming(snapshot)) return undefined;
    const names = knownMembers(snapshot).flatMap(({ name, isOurs }) => (isOurs ? [name] : []));
    const because = `spec.replicas is 0: ${names.join(", ")} stop; their data and identity are kept`;
    return step("fall-asleep", because, { do: "fallAsleep" });
  },
};

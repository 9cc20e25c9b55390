import { isToSleep } from "#api/sleep.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Records the identity of a new cluster before anything of it exists. */
export const recordIdentity: ClusterRule = {
  name: "record-identity",
  holds: true,
  decide(snapshot) {
    if (identityOf(snapshot) !== undefined || isToSleep(snapshot.cluster)) return undefined;
    const identity = newIdentity(snapshot);
    const names = identity.initialMembers.map((member) => member.name).join(", ");
    return step(`the cluster will be ${identity.clusterID}, formed by ${names}`, {
      do: "recordIdentity",
      identity,
    });
  },
};

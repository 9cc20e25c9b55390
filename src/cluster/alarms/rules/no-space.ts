import { noSpaceText } from "#cluster/alarms/no-space.ts";
import { fullMembers } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { notice } from "#runtime/decide.ts";

/**
 * Reports that a database has reached its quota: etcd refuses every write until a person frees space. All other rules
 * continue.
 */
export const noSpace: ClusterRule = {
  name: "no-space",
  decide(snapshot) {
    const full = fullMembers(snapshot);
    if (full.length === 0) return undefined;
    return notice(noSpaceText(full));
  },
};

import type { ClusterRule } from "#cluster/step.ts";
import { runningVersion } from "#cluster/versions.ts";
import { remark } from "#runtime/decide.ts";

/** The version of members cannot be changed yet; a change is refused aloud, not ignored, and is in nobody's way. */
export const refuseUpgrade: ClusterRule = {
  name: "refuse-upgrade",
  decide(snapshot) {
    const { version } = snapshot.cluster.spec;
    const running = runningVersion(snapshot);
    if (version === running) return undefined;
    const because = `spec.version is ${version}, but the cluster runs ${running} and this version of the operator does not change it; set it back to ${running}`;
    return remark("refuse-upgrade", because);
  },
};

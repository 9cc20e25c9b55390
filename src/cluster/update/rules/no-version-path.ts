import type { ClusterRule } from "#cluster/step.ts";
import { whyNoVersionPath } from "#cluster/update/version-path.ts";
import { notice } from "#runtime/decide.ts";

/** Reports a `spec.version` that members cannot move to. Members keep their release, and everything else continues. */
export const noVersionPath: ClusterRule = {
  name: "no-version-path",
  decide(snapshot) {
    const why = whyNoVersionPath(snapshot);
    return why === undefined ? undefined : notice(`spec.version is refused: ${why}`);
  },
};

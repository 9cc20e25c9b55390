import type { ClusterRule } from "#cluster/step.ts";
import { whyNoVersionPath } from "#cluster/version-path.ts";
import { remark } from "#runtime/decide.ts";

/** A release that members cannot go to is refused aloud, not ignored, and is in nobody's way: members keep theirs. */
export const noVersionPath: ClusterRule = {
  name: "no-version-path",
  decide(snapshot) {
    const why = whyNoVersionPath(snapshot);
    return why === undefined ? undefined : remark("no-version-path", `spec.version is refused: ${why}`);
  },
};

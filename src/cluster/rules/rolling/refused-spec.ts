import { whyRefused } from "#cluster/rolling.ts";
import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, wait } from "#runtime/decide.ts";

/** An edit wakes the cluster; this is for nothing but the case that it was not heard of. In milliseconds. */
const RECHECK_MS = 60_000;

/** What no member could run is refused aloud: nothing is made from it, and members that run keep what they have. */
export const refusedSpec: ClusterRule = {
  name: "refused-spec",
  decide(snapshot) {
    const why = whyRefused(snapshot).join("; ");
    if (why === "") return undefined;
    return identityOf(snapshot) === undefined
      ? wait("refused-spec", why, RECHECK_MS, { warn: true })
      : remark("refused-spec", why);
  },
};

import { identityOf } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyRefused } from "#cluster/update/wanted-template.ts";
import { notice, wait } from "#runtime/decide.ts";

/** A fallback for a lost event, in milliseconds: an edit of the spec requeues the cluster at once. */
const RECHECK_MS = 60_000;

/** Reports a spec that no member could run. Nothing is created from it, and running members keep their templates. */
export const refusedSpec: ClusterRule = {
  name: "refused-spec",
  decide(snapshot) {
    const why = whyRefused(snapshot).join("; ");
    if (why === "") return undefined;
    return identityOf(snapshot) === undefined ? wait(why, RECHECK_MS, { warn: true }) : notice(why);
  },
};

import { withoutPause } from "#api/pause.ts";
import { pausedText } from "#cluster/lifecycle/pause.ts";
import { planCluster } from "#cluster/plan.ts";
import { wasCarriedOut } from "#cluster/readiness/carried-out.ts";
import { blocked, missing } from "#cluster/readiness/hindrance.ts";
import { unfulfilled } from "#cluster/readiness/unfulfilled.ts";
import type { Case, Verdict } from "#cluster/readiness/verdict.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

// Why does Ready not report everything that a pause holds up?
//   Some differences appear without an edit, such as a certificate that is due for renewal: the cluster is no less
//   ready then. So a
//   generation of the spec that was once carried out counts as carried out. When the cause is unclear, it is reported.
// And when Ready was False in between, such as because of an unhealthy member?
//   Ready no longer has its earlier value then. The reason of Paused keeps it, as long as the pause lasts and the spec
//   is not edited.

/**
 * What the spec asks for and the pause holds up; `undefined` when it holds up nothing, or this spec was carried out
 * before.
 */
export function heldByPause({ snapshot }: Pick<Case, "snapshot">): Verdict | undefined {
  const paused = pausedText(snapshot);
  if (paused === undefined || wasCarriedOut(snapshot)) return undefined;
  const held = nextText({ ...snapshot, cluster: withoutPause(snapshot.cluster) });
  return held === undefined
    ? undefined
    : { status: "False", reason: "Paused", message: `${paused}; not done until then: ${held}` };
}

/** What the operator would do next, waits for, or needs a person to do. */
function nextText(snapshot: ClusterSnapshot): string | undefined {
  const plan = planCluster(snapshot);
  if (plan.next === "step") return `${plan.rule}: ${plan.because}`;
  const input = { snapshot, plan };
  return (blocked(input) ?? missing(input) ?? unfulfilled(input))?.message;
}

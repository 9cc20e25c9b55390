import { withoutPause } from "#api/pause.ts";
import { planCluster } from "#cluster/plan.ts";
import { pausedText } from "#cluster/rules/life/paused.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { blocked, missing } from "./hindrance.ts";
import { unfulfilled } from "./unfulfilled.ts";
import type { Case, Verdict } from "./verdict.ts";

// Why is not everything told that a pause holds up?
//   What comes to differ while nobody edits anything, such as a certificate that is due, is no less ready by that. So what this generation of the
//   spec was once seen to have been given counts. Whether it is the edit or something else that waits nobody can tell afterwards: then it is told.

/** What the spec asks for and is not done because the cluster is paused; `undefined` when nothing is, or this spec was carried out before. */
export function heldByPause({ snapshot }: Pick<Case, "snapshot">): Verdict | undefined {
  const paused = pausedText(snapshot);
  if (paused === undefined || wasReady(snapshot)) return undefined;
  const held = nextText({ ...snapshot, cluster: withoutPause(snapshot.cluster) });
  return held === undefined
    ? undefined
    : { status: "False", reason: "Paused", message: `${paused}; not done meanwhile: ${held}` };
}

/** Whether this generation of the spec was there and healthy once, by the status. */
function wasReady({ cluster: { metadata, status } }: ClusterSnapshot): boolean {
  const told = status?.conditions?.find(({ type }) => type === "Ready");
  return told?.status === "True" && told.observedGeneration === metadata.generation;
}

/** What the operator would do next, or waits for, or people would have to do. */
function nextText(snapshot: ClusterSnapshot): string | undefined {
  const plan = planCluster(snapshot);
  // Told by UpToDate alone, as without a pause: members that people restart are Ready with what they run. All others that are to have a turn are Rolling.
  if (plan.next === "step" && plan.rule === "give-turn") return undefined;
  if (plan.next === "step") return `${plan.rule}: ${plan.because}`;
  const given = { snapshot, plan };
  return (blocked(given) ?? missing(given) ?? unfulfilled(given))?.message;
}

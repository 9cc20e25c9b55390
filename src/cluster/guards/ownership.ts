import { isOurs } from "#cluster/certificates/usable.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import type { KubeObject } from "#kube/kinds.ts";

/** What another owner manages is never changed. */
export const ownOnly: ClusterGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    const facts = "facts" in step ? step.facts : undefined;
    if (facts !== undefined && !isOurs(snapshot, facts)) return `Secret ${facts.secretName} is not this cluster's`;
    const live = liveIn(step);
    if (live === undefined || isOwned(snapshot, live)) return undefined;
    return `${live.kind} ${live.metadata.name} is not this cluster's`;
  },
};

/** The object that the step changes; `undefined` for what it creates and for etcd's own business. */
function liveIn(step: ClusterStep): KubeObject | undefined {
  if ("live" in step) return step.live;
  return step.do === "markRemoval" || step.do === "releaseClaim" || step.do === "deletePeer" ? step.peer : undefined;
}

import { isToSleep } from "#api/sleep.ts";
import { whyHeldUp } from "#cluster/dying-claims.ts";
import { firstPossible } from "#cluster/first-possible.ts";
import { isResizing } from "#cluster/members.ts";
import { isAboutToRestart, isOutdated, isTemplateReady } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isDown } from "#cluster/standstill.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Proposal, step } from "#runtime/decide.ts";

type Restart = Extract<ClusterStep, { do: "restartPod" }>;

/**
 * A pod in which nothing runs, or in which the only member hangs, is made anew as soon as its ReplicaSet has what the member is to run next. One
 * that has to stay keeps no other one from it, and holds nothing else; only one with which a claim would go does, unless members are to come or go,
 * which may be what helps it.
 */
export const restartStopped: ClusterRule = {
  name: "restart-stopped",
  decide(snapshot) {
    const all = restarts(snapshot);
    const opinion = firstPossible(snapshot, all);
    // Without a list that a majority confirms nobody comes or goes, nor where nobody is wanted.
    const { cluster, members } = snapshot;
    const mayBeHelped = isResizing(snapshot) && !isToSleep(cluster) && members.is === "present";
    if (opinion?.next === "step" || mayBeHelped) return opinion;
    // Its guard says what a person has to do, before anything else is told.
    return all.find(({ step: { name } }) => whyHeldUp(snapshot, name) !== undefined) ?? opinion;
  },
};

function restarts(snapshot: ClusterSnapshot): readonly Proposal<Restart>[] {
  return snapshot.peers.flatMap((peer) => {
    const { name } = peer.metadata;
    const pod = snapshot.pods.get(name);
    if (pod === undefined || !isDown(snapshot, name) || !isAboutToRestart(snapshot, peer) || !isTemplateReady(peer))
      return [];
    if (isOutdated(snapshot, peer)) return []; // the wish has changed, or there is no way there any more
    const because = `${pod.metadata.name} does not do its work, and was made from something else than is wanted of ${name} now`;
    return [step("restart-stopped", because, { do: "restartPod", name, pod } as const)];
  });
}

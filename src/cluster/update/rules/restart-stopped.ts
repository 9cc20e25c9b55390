import { isToSleep } from "#api/sleep.ts";
import { firstPossible } from "#cluster/first-possible.ts";
import { whyRestartHeld } from "#cluster/members/dying-claims.ts";
import { isResizing } from "#cluster/members/members.ts";
import { isDown } from "#cluster/members/standstill.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { isOutdated } from "#cluster/update/next-template.ts";
import { isAboutToRestart, isTemplateReady } from "#cluster/update/pending-restart.ts";
import { type Proposed, step } from "#runtime/decide.ts";

type Restart = Extract<ClusterStep, { do: "restartPod" }>;

/**
 * Restarts a pod that is down as soon as its ReplicaSet has the newer template. A pod that must stay does not block the
 * others. Only a pod that would lose its claim blocks later rules, except while scaling, which may resolve it.
 */
export const restartStopped: ClusterRule = {
  name: "restart-stopped",
  decide(snapshot) {
    const all = restarts(snapshot);
    const opinion = firstPossible(snapshot, all);
    // Scaling cannot resolve it without a linearizable member list, or when `spec.replicas` is 0.
    const { cluster, members } = snapshot;
    const mayBeHelped = isResizing(snapshot) && !isToSleep(cluster) && members.is === "present";
    if (opinion?.next === "step" || mayBeHelped) return opinion;
    // The message of the guard comes first: it states what a person has to do.
    return all.find(({ step: { name } }) => whyRestartHeld(snapshot, name) !== undefined) ?? opinion;
  },
};

function restarts(snapshot: ClusterSnapshot): readonly Proposed<Restart>[] {
  return snapshot.peers.flatMap((peer) => {
    const { name } = peer.metadata;
    const pod = snapshot.pods.get(name);
    if (pod === undefined || !isDown(snapshot, name) || !isAboutToRestart(snapshot, peer) || !isTemplateReady(peer))
      return [];
    if (isOutdated(snapshot, peer)) return []; // the template changed, or its release is not reachable any more
    const because = `${pod.metadata.name} is down, and ${name} has a newer template for its next pod`;
    return [step(because, { do: "restartPod", name, pod } as const)];
  });
}

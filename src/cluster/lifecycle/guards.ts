import { isToSleep } from "#api/sleep.ts";
import { isSleepHeld } from "#cluster/members/dying-claims.ts";
import { identityOf, isForming } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { peerIn } from "#cluster/touched.ts";

/**
 * The cluster falls asleep only when spec.replicas is 0, once it has formed and every joined member is fenced. It wakes
 * up only when spec.replicas is not 0.
 */
export const sleepIsAsked: ClusterGuard = {
  name: "sleep-is-asked",
  forbids(snapshot, step) {
    const { cluster, peers } = snapshot;
    if (step.do === "wakeUp") return isToSleep(cluster) ? "spec.replicas is 0" : undefined;
    if (!hasTrait(step, "interrupts", "cluster")) return undefined;
    if (!isToSleep(cluster)) return `spec.replicas is ${cluster.spec.replicas}`;
    if (isForming(snapshot)) return "the cluster has not formed yet";
    const joined = identityOf(snapshot)?.initialMembers.filter((member) => member.joined) ?? [];
    const unfenced = peers.find(
      ({ spec }) => spec.bootstrap !== undefined && joined.some(({ id }) => id === spec.memberID),
    );
    if (unfenced === undefined) return undefined;
    return `${unfenced.metadata.name} has joined, and its pod could still start an empty cluster`;
  },
};

/**
 * While spec.replicas is 0, the membership stays: no member is added, promoted or removed, and no claim is released.
 */
export const sleepKeepsMembers: ClusterGuard = {
  name: "sleep-keeps-members",
  forbids(snapshot, step) {
    if (!isToSleep(snapshot.cluster)) return undefined;
    const isNewcomer = peerIn(step)?.spec?.bootstrap?.initialClusterState === "Existing";
    const isAboutMembers = hasTrait(step, "changes", "membership") || hasTrait(step, "changes", "data");
    const isKept = isAboutMembers || step.do === "recordIdentity" || isNewcomer;
    if (!isKept) return undefined;
    return isSleepHeld(snapshot)
      ? "spec.replicas is 0: the membership changes only when it is 1 or more"
      : "spec.replicas is 0: the cluster is to sleep as it is";
  },
};

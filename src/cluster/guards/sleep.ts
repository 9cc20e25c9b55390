import { isToSleep } from "#api/sleep.ts";
import { isKeptAwake } from "#cluster/dying-claims.ts";
import { ABOUT_MEMBERSHIP, peerIn } from "#cluster/guards/touched.ts";
import { identityOf, isForming } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";

/**
 * Members are put to sleep only when nobody is wanted, once the cluster has formed and whoever has joined could not bootstrap again; they are
 * woken only when somebody is wanted.
 */
export const sleepIsAsked: ClusterGuard = {
  name: "sleep-is-asked",
  forbids(snapshot, step) {
    const { cluster, peers } = snapshot;
    if (step.do === "wakeUp") return isToSleep(cluster) ? "spec.replicas is 0" : undefined;
    if (step.do !== "fallAsleep") return undefined;
    if (!isToSleep(cluster)) return `spec.replicas is ${cluster.spec.replicas}`;
    if (isForming(snapshot)) return "the cluster has not formed yet";
    const joined = identityOf(snapshot)?.initialMembers.filter((member) => member.joined) ?? [];
    const unfenced = peers.find(
      ({ spec }) => spec.bootstrap !== undefined && joined.some(({ id }) => id === spec.memberID),
    );
    return unfenced === undefined ? undefined : `${unfenced.metadata.name} has joined, and could bootstrap again`;
  },
};

/** While nobody is wanted, the cluster stays who it is: nobody is added, promoted or removed, and no claim is let go. */
export const sleepKeepsMembers: ClusterGuard = {
  name: "sleep-keeps-members",
  forbids(snapshot, step) {
    if (!isToSleep(snapshot.cluster)) return undefined;
    const isNewcomer = peerIn(step)?.spec?.bootstrap?.initialClusterState === "Existing";
    // Whose pod runs nothing while the cluster forms may be helped.
    const isAboutMembers = step.do !== "restartPod" && ABOUT_MEMBERSHIP.includes(step.do);
    const isKept = isAboutMembers || step.do === "recordIdentity" || isNewcomer;
    if (!isKept) return undefined;
    return isKeptAwake(snapshot)
      ? "spec.replicas is 0: nobody comes or goes before it says how many are wanted"
      : "spec.replicas is 0: the cluster is to sleep as it is";
  },
};

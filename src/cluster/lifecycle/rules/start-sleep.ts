import { isToSleep } from "#api/sleep.ts";
import { possibleOne } from "#cluster/first-possible.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import { whySleepHeld } from "#cluster/members/dying-claims.ts";
import { knownMembers } from "#cluster/members/members.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { templateStillRun } from "#cluster/update/next-template.ts";
import { hasPendingRestart } from "#cluster/update/pending-restart.ts";
import { notice, type Proposed, step } from "#runtime/decide.ts";

/**
 * Records that the cluster sleeps when spec.replicas is 0; then its members stop. The membership stays. Pending
 * restarts are withdrawn before: otherwise all members would wake with their new template at once.
 */
export const startSleep: ClusterRule = {
  name: "start-sleep",
  holds: true,
  decide(snapshot) {
    // A cluster that is forming completes that first: until then it is unknown which members have data.
    if (!isToSleep(snapshot.cluster) || isForming(snapshot)) return undefined;
    const why = whySleepHeld(snapshot);
    if (why !== undefined) return notice(`members continue to run: ${why}`);
    // A template that no guard allows to be withdrawn stays: sleep does not wait.
    const taken = possibleOne(snapshot, withdrawals(snapshot));
    if (taken !== undefined) return taken;
    const names = knownMembers(snapshot).flatMap(({ name, isOurs }) => (isOurs ? [name] : []));
    const because = `spec.replicas is 0: ${names.join(", ")} stop; their data and identity are kept`;
    return step(because, { do: "fallAsleep" });
  },
};

/** Steps that give members with a pending restart their running template back. */
function withdrawals(snapshot: ClusterSnapshot): readonly Proposed<ClusterStep>[] {
  return snapshot.peers.flatMap((live) => {
    const template = templateStillRun(snapshot, live);
    if (template === undefined || !hasPendingRestart(snapshot, live)) return [];
    const because = `${live.metadata.name} has a pending restart, and wakes up with the template that it runs: etcd ${template.version}`;
    return [step(because, { do: "replacePeer", live, peer: revisedPeer(live, template, undefined) })];
  });
}

import { isToSleep } from "#api/sleep.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { whyHeldAwake } from "#cluster/dying-claims.ts";
import { possibleOne } from "#cluster/first-possible.ts";
import { knownMembers } from "#cluster/members.ts";
import { hasTurn, unusedTurn } from "#cluster/rolling.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { type Proposal, remark, step } from "#runtime/decide.ts";

/**
 * Nobody is wanted: that the cluster sleeps is put on record, and then its members are stopped. Nothing of its membership changes. Turns that
 * members have yet to use are taken back before: all of them would use theirs at once when they wake, wanted or not.
 */
export const fallAsleep: ClusterRule = {
  name: "fall-asleep",
  holds: true,
  decide(snapshot) {
    // What has begun to form forms first: until then nobody knows who has data.
    if (!isToSleep(snapshot.cluster) || isForming(snapshot)) return undefined;
    const why = whyHeldAwake(snapshot);
    if (why !== undefined) return remark("fall-asleep", `members run on: ${why}`);
    // What no guard allows stays as it is: sleep waits for nothing.
    const taken = possibleOne(snapshot, takenBack(snapshot));
    if (taken !== undefined) return taken;
    const names = knownMembers(snapshot).flatMap(({ name, isOurs }) => (isOurs ? [name] : []));
    const because = `spec.replicas is 0: ${names.join(", ")} stop; their data and identity are kept`;
    return step("fall-asleep", because, { do: "fallAsleep" });
  },
};

/** Who waits for a restart with something else gets back what it runs. */
function takenBack(snapshot: ClusterSnapshot): readonly Proposal<ClusterStep>[] {
  return snapshot.peers.flatMap((live) => {
    const template = unusedTurn(snapshot, live);
    if (template === undefined || !hasTurn(snapshot, live)) return [];
    const because = `${live.metadata.name} has yet to restart, and wakes with what it runs: etcd ${template.version}`;
    return [step("fall-asleep", because, { do: "replacePeer", live, peer: revisedPeer(live, template, undefined) })];
  });
}

import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { isToSleep } from "#api/sleep.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import { whyHeldAwake } from "#cluster/dying-claims.ts";
import { knownMembers } from "#cluster/members.ts";
import { whyNotSpec } from "#cluster/refused-spec.ts";
import { hasTurn } from "#cluster/rolling.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyNoPathTo, whyNotYet } from "#cluster/version-path.ts";
import { runningRevision } from "#cluster/versions.ts";
import { remark, step } from "#runtime/decide.ts";

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
    for (const live of snapshot.peers) {
      const template = unused(snapshot, live);
      if (template === undefined) continue;
      const because = `${live.metadata.name} has yet to restart, and wakes with what it runs: etcd ${template.version}`;
      return step("fall-asleep", because, { do: "replacePeer", live, peer: revisedPeer(live, template, undefined) });
    }
    const names = knownMembers(snapshot).flatMap(({ name, isOurs }) => (isOurs ? [name] : []));
    const because = `spec.replicas is 0: ${names.join(", ")} stop; their data and identity are kept`;
    return step("fall-asleep", because, { do: "fallAsleep" });
  },
};

/** What the member runs, while it waits for a restart with something else; `undefined` when it does not, or cannot go back to that: sleep waits for nothing. */
function unused(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate | undefined {
  const { metadata, spec } = peer;
  const { previous } = spec;
  if (previous === undefined || spec.bootstrap !== undefined || !hasTurn(snapshot, peer)) return undefined;
  if (runningRevision(snapshot.pods.get(metadata.name)) !== revisionOf(previous)) return undefined;
  const why =
    whyNoPathTo(snapshot, previous.version) ??
    whyNotYet(snapshot, metadata.name, previous.version) ??
    whyNotSpec(previous, previous.version, spec.clusterName)[0];
  return why === undefined ? previous : undefined;
}

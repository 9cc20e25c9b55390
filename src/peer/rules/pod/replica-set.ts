import { draftText } from "#api/applied-hash.ts";
import type { Draft, ReplicaSet } from "#kube/kinds.ts";
import { replicaSet, replicaSetText } from "#peer/desired/replica-set.ts";
import { hasJoined, isOwnClaim } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/** Keeps the ReplicaSet's template up to date. It applies to the member's next pod; the running pod is not touched. */
export const replicaSetRule: PeerRule = {
  name: "replica-set",
  decide(snapshot) {
    const { claim, replicaSet: live } = snapshot;
    const isOtherClaim = claim !== undefined && !isOwnClaim(snapshot, claim);
    const { name } = snapshot.peer.metadata;
    if (live === undefined) {
      // The rules claim-lost and claim-disowned report it.
      if (claim === undefined || (isOtherClaim && hasJoined(snapshot))) return undefined;
      return step("replica-set", `ReplicaSet ${name} keeps the member's pod running`, {
        do: "createReplicaSet",
        replicaSet: replicaSet(snapshot),
      });
    }
    // A member with another claim keeps its replicas: one that was stopped, by a user or by sleep, stays at 0. Its
    // template is fenced anyway.
    const replicas = snapshot.isAsleep ? 0 : isOtherClaim ? (live.spec?.replicas ?? 1) : 1;
    if (draftText(live) === replicaSetText(snapshot) && live.spec?.replicas === replicas) return undefined;
    const wanted = withReplicas(replicaSet(snapshot), replicas);
    if (snapshot.isAsleep && live.spec?.replicas !== 0) {
      const because = `the pod of ${name} stops: spec.replicas of its EtcdCluster is 0`;
      return step("replica-set", because, { do: "replaceReplicaSet", live, replicaSet: wanted });
    }
    const why = hasJoined(snapshot) ? "can restart the member but never bootstrap it" : "match the EtcdPeer";
    return step("replica-set", `the next pods of ${name} ${why}`, {
      do: "replaceReplicaSet",
      live,
      replicaSet: wanted,
    });
  },
};

function withReplicas(draft: Draft<ReplicaSet>, replicas: number): Draft<ReplicaSet> {
  return { ...draft, spec: { ...draft.spec, selector: draft.spec?.selector ?? {}, replicas } };
}

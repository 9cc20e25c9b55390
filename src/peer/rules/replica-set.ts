import { isStale } from "#api/applied-hash.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import type { PeerRule } from "#peer/plan.ts";
import { hasJoined } from "#peer/snapshot.ts";
import { step } from "#runtime/decide.ts";

/** The ReplicaSet says what the member's next pod looks like. Changing it does not touch the running pod. */
export const replicaSetRule: PeerRule = {
  name: "replica-set",
  decide(snapshot) {
    const wanted = replicaSet(snapshot);
    const live = snapshot.replicaSet;
    const name = wanted.metadata.name;
    if (live === undefined) {
      if (snapshot.claim === undefined) return undefined; // claim-lost tells
      return step("replica-set", `ReplicaSet ${name} keeps the member's pod running`, {
        do: "createReplicaSet",
        replicaSet: wanted,
      });
    }
    if (!isStale(live, wanted) && live.spec?.replicas === wanted.spec?.replicas) return undefined;
    const why = hasJoined(snapshot) ? "can restart the member but never bootstrap it" : "look as the EtcdPeer says";
    return step("replica-set", `the next pods of ${name} ${why}`, {
      do: "replaceReplicaSet",
      live,
      replicaSet: wanted,
    });
  },
};

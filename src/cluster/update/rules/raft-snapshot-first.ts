import type { ClusterRule } from "#cluster/step.ts";
import { enabledDowngrade } from "#cluster/update/downgrade.ts";
import { SNAPSHOTS_BY, unconvertedVoter, whySnapshotsFirst } from "#cluster/update/raft-entries.ts";
import { minorOf } from "#etcd/version.ts";
import { step } from "#runtime/decide.ts";
import { untilConverted, untilWhole } from "./enable-downgrade.ts";

/**
 * Before the first member is updated to etcd 3.7, every member takes a raft snapshot: etcd 3.7 cannot read entries
 * written by etcd 3.5. Enabling etcd's downgrade to 3.5 forces the snapshots. It is cancelled when all members have
 * one, and no member restarts.
 */
export const raftSnapshotFirst: ClusterRule = {
  name: "raft-snapshot-first",
  decide(snapshot) {
    const why = whySnapshotsFirst(snapshot);
    if (why === undefined) return undefined;
    const what = `every member takes a raft snapshot before the first one is updated to etcd ${minorOf(snapshot.cluster.spec.version)}`;
    const incomplete = untilWhole(snapshot, what);
    if (incomplete !== undefined) return incomplete;
    if (enabledDowngrade(snapshot) !== undefined) return untilConverted(snapshot, `${what}; not done yet: ${why}`);
    // Data that is already in the older format would look converted before the snapshot is taken.
    const unconverted = unconvertedVoter(snapshot);
    if (unconverted !== undefined) {
      const because = `${what}; that begins when the data of ${unconverted.name} is in the format of the release that it runs`;
      return untilConverted(snapshot, because);
    }
    const because = `${what}: ${why}; etcd's downgrade to ${SNAPSHOTS_BY} forces the snapshots, and is cancelled then`;
    return step(because, { do: "enableDowngrade", to: SNAPSHOTS_BY });
  },
};

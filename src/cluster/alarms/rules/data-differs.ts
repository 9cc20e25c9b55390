import { isDataDisputed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 10_000;

/**
 * Waits for a person when members' data differs and etcd cannot tell which copy is right. The operator cannot tell
 * either: a new member might copy wrong data, and removing a member might remove the right copy.
 */
export const dataDiffers: ClusterRule = {
  name: "data-differs",
  decide(snapshot) {
    if (!isDataDisputed(snapshot)) return undefined;
    const because =
      "the members' data differs and etcd cannot tell which copy is right (alarm CORRUPT without a member): save each " +
      "member's data with etcdctl snapshot save, and compare with etcdctl endpoint hashkv --cluster --rev REVISION. " +
      "Only when a majority agrees, remove the other member and run etcdctl alarm disarm; otherwise restore a backup";
    return wait(because, RECHECK_MS, { warn: true });
  },
};

import { isDataDisputed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { wait } from "#runtime/decide.ts";

const RECHECK_MS = 10_000;

/**
 * etcd has found that its members' data differs and cannot tell whose is right. The operator knows no better: a new member would
 * copy what may be wrong, and who is removed may be the one that is right.
 */
export const awaitVerdict: ClusterRule = {
  name: "await-verdict",
  decide(snapshot) {
    if (!isDataDisputed(snapshot)) return undefined;
    const because =
      "the members' data differs and etcd cannot tell whose is right (alarm CORRUPT without a member): compare with " +
      "etcdctl endpoint hashkv --cluster, remove who is wrong with etcdctl member remove, then etcdctl alarm disarm";
    return wait("await-verdict", because, RECHECK_MS, { warn: true });
  },
};

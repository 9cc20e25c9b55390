import { ETCD_CONTAINER } from "#api/names.ts";
import { recheckMs } from "#base/recheck.ts";
import { ownJoining } from "#cluster/members/learners.ts";
import { saidByPeer } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { startedMsAgo, whyNotRunning } from "#kube/pod.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Recheck intervals: no event reports that a learner has caught up. Until it is dialled, the events of its pod requeue.
 */
const DIALLED = { firstMs: 100, maxMs: 2_000 };
const UNDIALLED_RECHECK_MS = 5_000;

/** Waits for a joining member: no other change of membership begins. */
export const awaitLearner: ClusterRule = {
  name: "await-learner",
  decide(snapshot) {
    const [learner] = ownJoining(snapshot);
    if (learner === undefined) return undefined;
    const pod = snapshot.pods.get(learner.name);
    const said = saidByPeer(snapshot, learner.name) ?? "its pod is not created yet";
    const why = pod === undefined ? said : (whyNotRunning(pod, ETCD_CONTAINER) ?? "it is catching up");
    const isDialled = pod !== undefined && snapshot.endpoints.has(learner.name);
    const againMs = isDialled
      ? recheckMs(startedMsAgo(pod, ETCD_CONTAINER, snapshot.takenAtMs), DIALLED)
      : UNDIALLED_RECHECK_MS;
    return wait(`${learner.name} is joining: ${why}`, againMs);
  },
};

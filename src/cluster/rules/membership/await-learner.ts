import { arriving } from "#cluster/members.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { wait } from "#runtime/decide.ts";

/** Nobody tells when a learner has caught up, so it is asked often; before it has an address, its pod's events tell. */
const DIALLED_RECHECK_MS = 100;
const UNDIALLED_RECHECK_MS = 2_000;

/** One new member at a time: nothing else is changed while one is on its way. */
export const awaitLearner: ClusterRule = {
  name: "await-learner",
  decide(snapshot) {
    const [learner] = arriving(snapshot).filter((member) => member.isOurs);
    if (learner === undefined) return undefined;
    const pod = snapshot.pods.get(learner.name);
    const why = pod === undefined ? "its pod is not created yet" : (whyNotRunning(pod) ?? "it is catching up");
    const recheckMs = snapshot.endpoints.has(learner.name) ? DIALLED_RECHECK_MS : UNDIALLED_RECHECK_MS;
    return wait("await-learner", `${learner.name} is joining: ${why}`, recheckMs);
  },
};

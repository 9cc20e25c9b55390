import { type ClusterSnapshot, healthOf, identityOf, saidByPeer } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { wait } from "#runtime/decide.ts";

/** A started member joins within tenths of a second; nobody tells us when, so we look often, at the members only. */
const DIALLED_RECHECK_MS = 100;
/** Without a pod to dial, the pod's own events tell when to look. */
const UNDIALLED_RECHECK_MS = 5_000;
/** Images and volumes take their time; a cluster that still forms after this long is worth a word. A guess. */
const LATE_AFTER_MS = 30_000;

/** While the cluster forms, there is nothing to do but to let members start and find each other. */
export const awaitMembers: ClusterRule = {
  name: "await-members",
  decide(snapshot) {
    const waiting = identityOf(snapshot)?.initialMembers.filter((member) => !member.joined) ?? [];
    if (waiting.length === 0) return undefined;
    const dialled = waiting.some((member) => snapshot.endpoints.has(member.name));
    const reasons = waiting.map((member) => `${member.name}: ${why(snapshot, member.name, member.id)}`);
    return wait(
      "await-members",
      `waiting for members to join: ${reasons.join("; ")}`,
      dialled ? DIALLED_RECHECK_MS : UNDIALLED_RECHECK_MS,
      { warn: isLate(snapshot) },
    );
  },
};

function isLate({ cluster, takenAtMs }: ClusterSnapshot): boolean {
  return takenAtMs - Date.parse(cluster.metadata.creationTimestamp ?? "") > LATE_AFTER_MS;
}

function why(snapshot: ClusterSnapshot, name: string, id: string): string {
  const health = healthOf(snapshot, name, id);
  if (health.is === "stranger") return health.why;
  const pod = snapshot.pods.get(name);
  const why = pod === undefined ? "its pod is not created yet" : whyNotRunning(pod);
  return why === undefined ? "it is starting" : (saidByPeer(snapshot, name) ?? why);
}

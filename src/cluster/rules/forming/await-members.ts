import { ETCD_CONTAINER } from "#api/names.ts";
import { recheckMs } from "#base/recheck.ts";
import { begunAtMs, type ClusterSnapshot, healthOf, identityOf, isForming, saidByPeer } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { startedMsAgo, whyNotRunning } from "#kube/pod.ts";
import { wait } from "#runtime/decide.ts";

/** No event tells that a started member has joined, which takes tenths of a second. One that has not for long is looked at rarely. */
const DIALLED = { firstMs: 100, maxMs: 5_000 };
/** A cluster that still forms after this long, in milliseconds, is warned of. It is a guess: images and volumes take their time. */
const LATE_AFTER_MS = 30_000;

/** While the cluster forms, there is nothing to do but to let members start and find each other. */
export const awaitMembers: ClusterRule = {
  name: "await-members",
  decide(snapshot) {
    if (!isForming(snapshot)) return undefined;
    const waiting = identityOf(snapshot)?.initialMembers.filter((member) => !member.joined) ?? [];
    const reasons = waiting.map((member) => `${member.name}: ${why(snapshot, member.name, member.id)}`);
    const because = `waiting for members to join: ${reasons.join("; ")}`;
    const names = waiting.map(({ name }) => name);
    return wait("await-members", because, joinRecheckMs(snapshot, names), { warn: isLate(snapshot) });
  },
};

/** When to look again for members that have been started: the one that started last decides. Without any, their pods' own events tell. */
export function joinRecheckMs({ pods, endpoints, takenAtMs }: ClusterSnapshot, names: readonly string[]): number {
  const ages = names.flatMap((name) => {
    const pod = endpoints.has(name) ? pods.get(name) : undefined;
    return pod === undefined ? [] : startedMsAgo(pod, ETCD_CONTAINER, takenAtMs);
  });
  return recheckMs(Math.min(...ages), DIALLED);
}

function isLate(snapshot: ClusterSnapshot): boolean {
  return snapshot.takenAtMs - begunAtMs(snapshot) > LATE_AFTER_MS;
}

function why(snapshot: ClusterSnapshot, name: string, id: string): string {
  const health = healthOf(snapshot, name, id);
  if (health.is === "stranger") return health.why;
  const pod = snapshot.pods.get(name);
  const why = pod === undefined ? "its pod is not created yet" : whyNotRunning(pod, ETCD_CONTAINER);
  return why === undefined ? "it is starting" : (saidByPeer(snapshot, name) ?? why);
}

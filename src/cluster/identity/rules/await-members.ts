import { ETCD_CONTAINER } from "#api/names.ts";
import { recheckMs } from "#base/recheck.ts";
import { healthOf } from "#cluster/members/member-health.ts";
import { begunAtMs, type ClusterSnapshot, identityOf, isForming, saidByPeer } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { startedMsAgo, whyNotRunning } from "#kube/pod.ts";
import { wait } from "#runtime/decide.ts";

/**
 * Recheck intervals, in milliseconds: no event reports that a started member has joined, which takes tenths of a
 * second. Members that do not join for long are checked less often.
 */
const DIALLED = { firstMs: 100, maxMs: 5_000 };
/**
 * Forming for longer than this causes a warning, in milliseconds. An estimate: shorter would warn while images are
 * pulled and volumes provisioned, longer would hide trouble.
 */
const LATE_AFTER_MS = 30_000;

/** While the cluster forms, the operator waits for members to start and find each other. */
export const awaitMembers: ClusterRule = {
  name: "await-members",
  decide(snapshot) {
    if (!isForming(snapshot)) return undefined;
    const waiting = identityOf(snapshot)?.initialMembers.filter((member) => !member.joined) ?? [];
    const reasons = waiting.map((member) => `${member.name}: ${why(snapshot, member.name, member.id)}`);
    const because = `waiting for members to join: ${reasons.join("; ")}`;
    const names = waiting.map(({ name }) => name);
    return wait(because, joinRecheckMs(snapshot, names), { warn: isLate(snapshot) });
  },
};

/**
 * When to check the started members again: the one started last decides. Without any, events of their pods trigger the
 * next pass.
 */
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

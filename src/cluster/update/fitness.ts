import { ETCD_CONTAINER } from "#api/names.ts";
import type { Lack } from "#cluster/members/member-state.ts";
import { type KnownMember, ownVoters } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isStopped, needsHelp, whyNotRunning } from "#kube/pod.ts";

// A member is fit, so that another may restart, when it serves clients, has caught up, and its pod is Ready. Then the
// client Service leads to it. Readiness covers the whole pod: a failing sidecar makes a member unfit, and only a new
// pod template fixes that.

const NEEDED_TEXT: Readonly<Record<Lack, string>> = {
  health: "is healthy",
  pod: "has a Ready pod",
  etcdReadiness: "has a Ready pod",
  sidecarReadiness: "has a Ready pod",
  raftLog: "has caught up with the others",
  revision: "has a pod with a recorded template revision",
};

/** What the lack means, as a clause that begins with a verb; `undefined` without a lack. */
export function neededText(lack: Lack | undefined): string | undefined {
  return lack && NEEDED_TEXT[lack];
}

/** The first lack as a clause for "waits until MEMBER …"; `undefined` when the member is fit. */
export function restartBlocker({ lacks }: KnownMember): string | undefined {
  return neededText(lacks[0]);
}

/** Whether the member lacks this and nothing else. */
export function lacksOnly({ lacks }: KnownMember, lack: Lack): boolean {
  return lacks.length === 1 && lacks[0] === lack;
}

/** The other managed voters that do not participate in the quorum. */
export function othersDown(snapshot: ClusterSnapshot, name: string): readonly KnownMember[] {
  return ownVoters(snapshot).filter((member) => member.name !== name && !member.participatesInQuorum);
}

/**
 * What Kubernetes reports about a pod that is stuck or has ended, to append to a clause about its member; otherwise "".
 */
export function podTrouble({ pods }: Pick<ClusterSnapshot, "pods">, name: string): string {
  const pod = pods.get(name);
  const isInTrouble = pod !== undefined && (needsHelp(pod) || isStopped(pod, ETCD_CONTAINER));
  const why = isInTrouble ? whyNotRunning(pod, ETCD_CONTAINER) : undefined;
  return why === undefined ? "" : `; ${name}: ${why}`;
}

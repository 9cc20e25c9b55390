import type { PeerReason } from "#api/conditions.ts";
import { REVISION_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer, EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { hexOf } from "#etcd/types.ts";
import { type PeerSnapshot, whyNotReady } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import { withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";

/** A peer younger than this gets no word on its pod's progress: it would be old before it is read. */
const QUIET_MS = 10_000;

/** What was seen and is meant, for people and for other software. Pure. */
export function peerStatus(snapshot: PeerSnapshot, plan: Plan<PeerStep>): EtcdPeerStatus {
  const { peer, endpoint } = snapshot;
  const answer = endpoint?.is === "present" ? endpoint.value : undefined;
  const observedGeneration = peer.metadata.generation ?? 0;
  const verdict = ready(snapshot, plan);
  const now = rfc3339(snapshot.takenAtMs);
  const revision = nextRevision(snapshot);
  return {
    observedGeneration,
    ...(revision === undefined ? {} : { revision }),
    ...(answer === undefined
      ? {}
      : { serverVersion: answer.version, memberID: hexOf(answer.memberId), clusterID: hexOf(answer.clusterId) }),
    conditions: withCondition(peer.status?.conditions ?? [], { type: "Ready", ...verdict, observedGeneration }, now),
  };
}

/** What the ReplicaSet controller would make the next pod from: it has a cache of its own, and may not have seen our last write. */
function nextRevision({ replicaSet }: PeerSnapshot): string | undefined {
  const isSeen = (replicaSet?.status?.observedGeneration ?? 0) >= (replicaSet?.metadata.generation ?? 1);
  return isSeen ? replicaSet?.metadata.annotations?.[REVISION_ANNOTATION] : undefined;
}

/** Whether the status is not worth a write yet: the pod of a peer that is only seconds old has not started. */
export function mayWait(snapshot: PeerSnapshot, status: EtcdPeerStatus): boolean {
  const isReady = (of: EtcdPeerStatus | undefined) => of?.conditions?.find(({ type }) => type === "Ready");
  const was = isReady(snapshot.peer.status);
  return isQuiet(snapshot) && isReady(status)?.reason === "PodPending" && was?.status !== "True";
}

/** The status as it is, and that no look at the member comes to its end: how it is, nobody knows then. */
export function failingStatus({ metadata, status }: EtcdPeer, because: string, nowMs: number): EtcdPeerStatus {
  const verdict: Verdict = { status: "Unknown", reason: "InternalError", message: because };
  const condition = { type: "Ready", ...verdict, observedGeneration: metadata.generation ?? 0 };
  return { ...status, conditions: withCondition(status?.conditions ?? [], condition, rfc3339(nowMs)) };
}

/** Rules whose wait has a reason of its own. */
const REASON_OF_RULE: Readonly<Record<string, PeerReason>> = {
  "await-member": "MemberUnreachable",
  "replica-set-taken": "NameTaken",
  "claim-taken": "ClaimTaken",
  "claim-disowned": "ClaimTaken",
  "claim-lost": "ClaimLost",
};

interface Verdict {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: PeerReason;
  readonly message: string;
}

function ready(snapshot: PeerSnapshot, plan: Plan<PeerStep>): Verdict {
  const { peer } = snapshot;
  if (peer.metadata.deletionTimestamp !== undefined)
    return no("Deleting", "the member's pod is being stopped; its claim is kept");
  const lack = plan.aside?.find(({ is }) => is !== "putOff");
  if (lack !== undefined)
    return no(lack.code === "KubeAlreadyExists" ? "NameTaken" : "StepRefused", `${lack.rule}: ${lack.because}`);
  if (snapshot.isAsleep && (plan.next === "settled" || plan.rule === "asleep")) return no("Asleep", ASLEEP);
  if (plan.next === "wait" && plan.rule !== "await-pod")
    return no(REASON_OF_RULE[plan.rule] ?? "Waiting", plan.because);
  const why = whyNotReady(snapshot);
  if (why !== undefined) return no("PodPending", isQuiet(snapshot) ? "its pod is starting" : why);
  return { status: "True", reason: "MemberHealthy", message: "the member answers" };
}

const ASLEEP =
  "its EtcdCluster sleeps (spec.replicas is 0), or is just waking up: its pod is stopped, and its data is kept";

function no(reason: PeerReason, message: string): Verdict {
  return { status: "False", reason, message };
}

function isQuiet({ peer, takenAtMs }: PeerSnapshot): boolean {
  const ageMs = takenAtMs - Date.parse(peer.metadata.creationTimestamp ?? ""); // negative when the clock of this node is behind
  return ageMs >= 0 && ageMs < QUIET_MS;
}

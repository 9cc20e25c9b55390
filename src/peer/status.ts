import type { PeerReason } from "#api/conditions.ts";
import { REVISION_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer, EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { hexOf } from "#etcd/types.ts";
import { type PeerSnapshot, whyNotReady } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import { type Failing, unknownStatus, withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";

/**
 * Time in milliseconds after a pod was created or became ready during which PodPending and MemberUnreachable are not
 * written to the status. Shorter, and each start costs writes that are outdated at once; longer, and a start that fails
 * is reported late.
 */
const QUIET_MS = 10_000;
/**
 * Upper limit in milliseconds, counted from the creation of the peer: among hundreds of new members a pod may be
 * created late.
 */
const QUIET_AT_MOST_MS = 60_000;
/**
 * Time in milliseconds after a pod became ready within which the member is expected to be fenced. One status write then
 * covers both.
 */
const FENCED_WITHIN_MS = 30_000;

/** Computes the status of the EtcdPeer. Pure. */
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

/**
 * The revision from which the ReplicaSet controller would create the next pod. Undefined while that controller has not
 * observed the last write.
 */
function nextRevision({ replicaSet }: PeerSnapshot): string | undefined {
  const isSeen = (replicaSet?.status?.observedGeneration ?? 0) >= (replicaSet?.metadata.generation ?? 1);
  return isSeen ? replicaSet?.metadata.annotations?.[REVISION_ANNOTATION] : undefined;
}

/**
 * Whether the status write can be postponed. True while the pod of a new peer starts, while a ready pod was not reached
 * yet, and between joining and fencing.
 */
export function mayWait(snapshot: PeerSnapshot, status: EtcdPeerStatus): boolean {
  const readyIn = (of: EtcdPeerStatus | undefined) => of?.conditions?.find(({ type }) => type === "Ready");
  const is = readyIn(status);
  if (readyIn(snapshot.peer.status)?.status === "True") return false;
  if (is?.status === "True") return postponeStatusMs(snapshot) > 0;
  return (is?.reason === "PodPending" || is?.reason === "MemberUnreachable") && isQuiet(snapshot);
}

/** Milliseconds until the status is to be written although the member is not fenced yet; 0: write now. */
export function postponeStatusMs(snapshot: PeerSnapshot): number {
  if (snapshot.peer.spec.bootstrap === undefined && nextRevision(snapshot) !== undefined) return 0;
  const forMs = readyForMs(snapshot);
  return isWithin(forMs, FENCED_WITHIN_MS) ? FENCED_WITHIN_MS - forMs : 0;
}

/** The status while all passes of the peer fail. */
export const failingStatus: Failing<Pick<EtcdPeer, "metadata" | "status">, EtcdPeerStatus> = (peer, ...failure) =>
  unknownStatus(peer, ["Ready"], ...failure);

/** Reasons of the condition by rule; other waits have Waiting. */
const REASON_OF_RULE: Readonly<Record<string, PeerReason>> = {
  "await-member": "MemberUnreachable",
  "replica-set-taken": "NameTaken",
  "claims-unclear": "ClaimTaken",
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
  const setback = plan.reports?.find(({ is }) => is !== "delayed");
  if (setback !== undefined)
    return no(
      setback.code === "KubeAlreadyExists" ? "NameTaken" : "StepRefused",
      `${setback.rule}: ${setback.because}`,
    );
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

function isQuiet(snapshot: PeerSnapshot): boolean {
  const { peer, replicaSet, pod, takenAtMs } = snapshot;
  const [ageMs = Number.NaN, ...others] = [peer, replicaSet, pod].map(
    (made) => takenAtMs - Date.parse(made?.metadata.creationTimestamp ?? ""),
  );
  const isNew = [ageMs, ...others, readyForMs(snapshot)].some((forMs) => isWithin(forMs, QUIET_MS));
  return isNew && isWithin(ageMs, QUIET_AT_MOST_MS);
}

/** Milliseconds since the pod became ready; NaN when it is not ready or has no lastTransitionTime. */
function readyForMs({ pod, takenAtMs }: PeerSnapshot): number {
  const ready = pod?.status?.conditions?.find(({ type, status }) => type === "Ready" && status === "True");
  return takenAtMs - Date.parse(ready?.lastTransitionTime ?? "");
}

/** False for NaN, and for a negative duration: the operator's clock is behind. */
function isWithin(forMs: number, ms: number): boolean {
  return forMs >= 0 && forMs < ms;
}

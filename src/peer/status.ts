import type { PeerReason } from "#api/conditions.ts";
import { REVISION_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer, EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { hexOf } from "#etcd/types.ts";
import { type PeerSnapshot, whyNotReady } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import { withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";

/** Of a pod that was made, has become ready, or is about to be made, nothing is said for so long, in milliseconds: that would be old before it is read. */
const QUIET_MS = 10_000;
/** And for so long at the most after the peer itself, in milliseconds: among hundreds that are made at once a pod may come late. */
const QUIET_AT_MOST_MS = 60_000;
/** A member whose pod is ready for less than this, in milliseconds, is fenced any moment, and what is said then says all. */
const FENCED_WITHIN_MS = 30_000;

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

/**
 * Whether the status is not worth a write yet: the pod of a new peer was made seconds ago and has not started, or is ready since then and was
 * not reached yet, or its member has just joined and is about to be fenced.
 */
export function mayWait(snapshot: PeerSnapshot, status: EtcdPeerStatus): boolean {
  const readyIn = (of: EtcdPeerStatus | undefined) => of?.conditions?.find(({ type }) => type === "Ready");
  const is = readyIn(status);
  if (readyIn(snapshot.peer.status)?.status === "True") return false;
  if (is?.status === "True") return tellsMoreInMs(snapshot) > 0;
  return (is?.reason === "PodPending" || is?.reason === "MemberUnreachable") && isQuiet(snapshot);
}

/** How long there is still something to come that is told with the member's joining, in milliseconds; 0: all of it has come. */
export function tellsMoreInMs(snapshot: PeerSnapshot): number {
  if (snapshot.peer.spec.bootstrap === undefined && nextRevision(snapshot) !== undefined) return 0;
  const forMs = readyForMs(snapshot);
  return isWithin(forMs, FENCED_WITHIN_MS) ? FENCED_WITHIN_MS - forMs : 0;
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

function isQuiet(snapshot: PeerSnapshot): boolean {
  const { peer, replicaSet, pod, takenAtMs } = snapshot;
  const [ageMs = Number.NaN, ...others] = [peer, replicaSet, pod].map(
    (made) => takenAtMs - Date.parse(made?.metadata.creationTimestamp ?? ""),
  );
  const isNew = [ageMs, ...others, readyForMs(snapshot)].some((forMs) => isWithin(forMs, QUIET_MS));
  return isNew && isWithin(ageMs, QUIET_AT_MOST_MS);
}

/** Not a number where the pod is not ready, or does not say since when. */
function readyForMs({ pod, takenAtMs }: PeerSnapshot): number {
  const ready = pod?.status?.conditions?.find(({ type, status }) => type === "Ready" && status === "True");
  return takenAtMs - Date.parse(ready?.lastTransitionTime ?? "");
}

/** Of what is not known since when, or lies ahead by a clock that is behind, that cannot be said. */
function isWithin(forMs: number, ms: number): boolean {
  return forMs >= 0 && forMs < ms;
}

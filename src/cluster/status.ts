import type { ConditionType, Reason } from "#api/conditions.ts";
import { memberSelector, REMOVAL_ANNOTATION, selectorText } from "#api/names.ts";
import type { EtcdClusterStatus, MemberStatus } from "#api/v1alpha1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { arriving, type KnownMember, knownMembers } from "#cluster/members.ts";
import {
  type ClusterSnapshot,
  corruptMembers,
  healthOf,
  identityOf,
  isDataDisputed,
  isForming,
  peerNamed,
  saidByPeer,
} from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { compareVersions, parseVersion } from "#etcd/version.ts";
import { isReady, whyNotRunning } from "#kube/pod.ts";
import { withCondition } from "#runtime/conditions.ts";
import type { Outcome } from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";

interface Verdict {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

/** A cluster younger than this gets no word on each pod's progress: the words would be old before they are read. */
const QUIET_MS = 5_000;

/** What was seen, meant and done, for people and for other software. Pure. */
export function clusterStatus(snapshot: ClusterSnapshot, plan: Plan<ClusterStep>, outcome: Outcome): EtcdClusterStatus {
  const { cluster } = snapshot;
  const members = memberStatuses(snapshot);
  const voters = members.filter((member) => !member.learner);
  const healthy = voters.filter((member) => member.healthy);
  const leader = members.find((member) => member.leader)?.name;
  const version = oldestVersion(members);
  const identity = identityOf(snapshot);
  return {
    observedGeneration: cluster.metadata.generation ?? 0,
    replicas: snapshot.peers.length,
    readyReplicas: healthy.length,
    ready: `${healthy.length}/${cluster.spec.replicas}`,
    selector: selectorText(memberSelector(cluster.metadata.name)),
    ...(leader === undefined ? {} : { leader }),
    ...(version === undefined ? {} : { version, clusterVersion: minorOf(version) }),
    ...(identity === undefined ? {} : { identity }),
    members,
    conditions: conditions(snapshot, plan, outcome, members),
  };
}

/** Whether the status is not worth a write yet: a cluster that is seconds old is being formed, as it says already. */
export function mayWait(snapshot: ClusterSnapshot, status: EtcdClusterStatus): boolean {
  const before = snapshot.cluster.status?.conditions ?? [];
  const isOld = ({ type, reason }: { type: string; reason: string }) =>
    reason === "Forming" && before.some((condition) => condition.type === type && condition.reason === reason);
  return isQuiet(snapshot) && status.conditions?.every(isOld) === true;
}

function memberStatuses(snapshot: ClusterSnapshot): MemberStatus[] {
  return knownMembers(snapshot).map((member) => memberStatus(snapshot, member));
}

function memberStatus(snapshot: ClusterSnapshot, { name, id, isLearner }: KnownMember): MemberStatus {
  const health = healthOf(snapshot, name, id);
  const status = "status" in health ? health.status : undefined;
  const message = health.is === "healthy" || isQuiet(snapshot) ? undefined : whyUnhealthy(snapshot, name, health.why);
  return {
    name,
    id,
    healthy: health.is === "healthy",
    leader: status !== undefined && status.leaderId === status.memberId,
    learner: isLearner,
    ...(status === undefined ? {} : { version: status.version }),
    ...(health.is === "healthy" || health.is === "unpublished" ? {} : { since: sickSince(snapshot, id) }),
    ...(message === undefined ? {} : { message }),
  };
}

/** Times in the status have whole seconds, and clocks are set: two that differ by less, in milliseconds, are the same. */
const SAME_MOMENT_MS = 2_000;

/** The first look that found the member unhealthy: kept from look to look, and over restarts, until one has found it well. */
function sickSince(snapshot: ClusterSnapshot, id: string): string {
  const { sickForMs = 0, wellMsAgo } = snapshot.histories.get(id) ?? {};
  const recorded = snapshot.cluster.status?.members?.find((member) => member.id === id)?.since;
  const lastWellMs = wellMsAgo === undefined ? Number.NEGATIVE_INFINITY : snapshot.takenAtMs - wellMsAgo;
  const holds = recorded !== undefined && Date.parse(recorded) >= lastWellMs - SAME_MOMENT_MS;
  return holds ? recorded : rfc3339(snapshot.takenAtMs - sickForMs);
}

/** What Kubernetes says of the pod explains more than "no answer" does. */
function whyUnhealthy(snapshot: ClusterSnapshot, name: string, why: string): string {
  const pod = snapshot.pods.get(name);
  const notRunning = pod === undefined ? why : whyNotRunning(pod);
  return notRunning === undefined ? why : (saidByPeer(snapshot, name) ?? notRunning);
}

function isQuiet(snapshot: ClusterSnapshot): boolean {
  const created = Date.parse(snapshot.cluster.metadata.creationTimestamp ?? "");
  const ageMs = snapshot.takenAtMs - created; // negative when the clock of this node is behind: then it says nothing
  return isForming(snapshot) && ageMs >= 0 && ageMs < QUIET_MS;
}

/** etcd's cluster version is the oldest member's minor with patch 0. */
function minorOf(version: string): string {
  return version.replace(/\.\d+$/, ".0");
}

function oldestVersion(members: readonly MemberStatus[]): string | undefined {
  // A build of somebody's own may call itself anything; it is shown with its member but not compared.
  const versions = members.flatMap(({ version }) =>
    version !== undefined && /^\d+\.\d+\.\d+$/.test(version) ? [version] : [],
  );
  return versions.sort((a, b) => compareVersions(parseVersion(a), parseVersion(b)))[0];
}

function conditions(
  snapshot: ClusterSnapshot,
  plan: Plan<ClusterStep>,
  outcome: Outcome,
  members: readonly MemberStatus[],
) {
  const verdicts: Partial<Record<ConditionType, Verdict>> = {
    Available: available(snapshot, members),
    Degraded: degraded(snapshot, members),
    Progressing: progressing(snapshot, plan, outcome),
    Ready: ready(snapshot, plan, outcome, members),
  };
  const mismatch = clusterIdMismatch(snapshot);
  if (mismatch !== undefined) verdicts.ClusterIDMismatch = mismatch;
  const now = rfc3339(snapshot.takenAtMs);
  const observedGeneration = snapshot.cluster.metadata.generation ?? 0;
  return Object.entries(verdicts).reduce(
    (all, [type, verdict]) => withCondition(all, { type, ...verdict, observedGeneration }, now),
    snapshot.cluster.status?.conditions ?? [],
  );
}

function available(snapshot: ClusterSnapshot, members: readonly MemberStatus[]): Verdict {
  const voters = members.filter((member) => !member.learner);
  const missing = voters.filter((member) => !member.healthy);
  const corrupt = corruptMembers(snapshot).map((id) => `for member ${id}`);
  if (isDataDisputed(snapshot)) corrupt.push("for no member in particular");
  if (snapshot.members.is === "present" && corrupt.length > 0) {
    const message = `the alarm CORRUPT is raised ${corrupt.join(" and ")}: etcd refuses every read and write`;
    return { status: "False", reason: "CorruptionAlarm", message };
  }
  if (snapshot.members.is === "present") {
    return {
      status: "True",
      reason: "QuorumAvailable",
      message: `${voters.length - missing.length} of ${voters.length} voters are healthy`,
    };
  }
  if (isForming(snapshot))
    return { status: "False", reason: "Forming", message: "no majority of the first members has joined yet" };
  const needed = quorumOf(voters.length);
  const readyPods = [...snapshot.pods.values()].filter(isReady).length;
  // The record may be older than a removal that was about to be made; a pod is ready only while its member has a quorum.
  const mayHaveLeft = voters.filter(
    ({ name }) => peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined,
  ).length;
  if (readyPods >= quorumOf(voters.length - mayHaveLeft)) {
    const why = snapshot.members.is === "unknown" ? snapshot.members.why : "";
    return {
      status: "Unknown",
      reason: "MembersUnreachable",
      message: `${readyPods} pods are ready, but the operator cannot ask them: ${why}`,
    };
  }
  const names = missing.map((member) => `${member.name} (${member.message ?? "no answer"})`).join(", ");
  return {
    status: "False",
    reason: "QuorumLost",
    message: `${needed} of ${voters.length} voters are needed; missing: ${names}${ofOldClaims(snapshot)}`,
  };
}

/** A cluster that was made again knows only of members whose claims were kept: others may be what is missing. */
function ofOldClaims(snapshot: ClusterSnapshot): string {
  const identity = identityOf(snapshot);
  if (identity === undefined || identity.token.endsWith(`/${snapshot.cluster.metadata.uid}`)) return "";
  const names = identity.initialMembers.map(({ name }) => name).join(", ");
  return `; the cluster was made again from the claims of ${names}: if it had more members, theirs have to come back too`;
}

function degraded(snapshot: ClusterSnapshot, members: readonly MemberStatus[]): Verdict {
  const sick = members.filter((member) => !member.healthy);
  if (isForming(snapshot)) return { status: "False", reason: "Forming", message: "the cluster is being created" };
  if (sick.length === 0)
    return { status: "False", reason: "FullStrength", message: `all ${members.length} members are healthy` };
  return { status: "True", reason: "MembersUnhealthy", message: sickText(sick) };
}

function sickText(sick: readonly MemberStatus[]): string {
  return sick.map((member) => `${member.name}: ${member.message ?? "not healthy"}`).join("; ");
}

/** Waits that last until a person changes something: saying "progressing" would be a lie. */
const BLOCKED: Readonly<Record<string, Reason>> = {
  paused: "Paused",
  "name-taken": "NameTaken",
  "claim-taken": "ClaimTaken",
  "refuse-upgrade": "UpgradeNotSupported",
};

function progressing(snapshot: ClusterSnapshot, plan: Plan<ClusterStep>, outcome: Outcome): Verdict {
  if (snapshot.cluster.metadata.deletionTimestamp !== undefined) {
    return { status: "True", reason: "Deleting", message: "members are being stopped; claims are kept" };
  }
  const blocked = blockedBy(plan, outcome);
  if (blocked !== undefined) return { status: "False", ...blocked };
  if (plan.next === "settled") return { status: "False", reason: "Settled", message: "there is nothing to do" };
  if (plan.next === "step") {
    const failed = outcome.is === "failed" || outcome.is === "notNow" ? `; not done yet: ${outcome.why}` : "";
    return { status: "True", reason: "Acting", message: `${plan.rule}: ${plan.because}${failed}` };
  }
  if (isQuiet(snapshot)) return { status: "True", reason: "Forming", message: "members are starting" };
  if (changing(snapshot))
    return { status: "True", reason: changeReason(snapshot), message: `${plan.rule}: ${plan.because}` };
  return {
    status: "True",
    reason: isForming(snapshot) ? "Forming" : "Waiting",
    message: `${plan.rule}: ${plan.because}`,
  };
}

/** Whether members are on their way in, or others are wanted than there are. */
function changing(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot) || snapshot.members.is !== "present") return false;
  return arriving(snapshot).length > 0 || knownMembers(snapshot).length !== snapshot.cluster.spec.replicas;
}

/** Fewer than are wanted, and a lost one on its way out or put aside: that is a replacement. */
function changeReason(snapshot: ClusterSnapshot): Reason {
  const isReplacing = snapshot.peers.some(
    ({ metadata }) => metadata.annotations?.[REMOVAL_ANNOTATION] === "replacement",
  );
  return isReplacing ? "Replacing" : "Scaling";
}

function blockedBy(plan: Plan<ClusterStep>, outcome: Outcome): { reason: Reason; message: string } | undefined {
  if (outcome.is === "failed" && outcome.code === "KubeAlreadyExists")
    return { reason: "NameTaken", message: outcome.why };
  if (plan.next !== "wait") return undefined;
  const reason = BLOCKED[plan.rule];
  return reason === undefined ? undefined : { reason, message: plan.because };
}

function ready(
  snapshot: ClusterSnapshot,
  plan: Plan<ClusterStep>,
  outcome: Outcome,
  members: readonly MemberStatus[],
): Verdict {
  if (snapshot.cluster.metadata.deletionTimestamp !== undefined) {
    return { status: "False", reason: "Deleting", message: "the cluster is being deleted" };
  }
  const blocked = blockedBy(plan, outcome);
  if (blocked !== undefined) return { status: "False", ...blocked };
  const healthy = members.filter((member) => member.healthy && !member.learner).length;
  if (isForming(snapshot)) {
    return {
      status: "False",
      reason: "Forming",
      message: `${healthy} of ${snapshot.cluster.spec.replicas} members have joined`,
    };
  }
  if (snapshot.members.is !== "present") {
    const { reason, message } = available(snapshot, members);
    return { status: "False", reason, message };
  }
  const { replicas } = snapshot.cluster.spec;
  if (changing(snapshot)) {
    return {
      status: "False",
      reason: changeReason(snapshot),
      message: `${healthy} healthy voters, ${replicas} wanted`,
    };
  }
  const sick = members.filter((member) => !member.healthy);
  if (sick.length > 0) return { status: "False", reason: "MembersUnhealthy", message: sickText(sick) };
  const even =
    replicas % 2 === 0 ? `; ${replicas} tolerate no more failures than ${replicas - 1}: an odd number is better` : "";
  return {
    status: "True",
    reason: "AllMembersHealthy",
    message: `${healthy} of ${replicas} members are healthy voters${even}`,
  };
}

/** Told while it lasts, and afterwards that it is over. */
function clusterIdMismatch(snapshot: ClusterSnapshot): Verdict | undefined {
  const strangers = knownMembers(snapshot).flatMap(({ name, id }) => {
    const health = healthOf(snapshot, name, id);
    return health.is === "stranger" ? [`${name}: ${health.why}`] : [];
  });
  if (strangers.length > 0) return { status: "True", reason: "OtherClusterAnswered", message: strangers.join("; ") };
  const toldBefore =
    snapshot.cluster.status?.conditions?.some((condition) => condition.type === "ClusterIDMismatch") ?? false;
  return toldBefore
    ? { status: "False", reason: "SameCluster", message: "every member that answers has the recorded cluster ID" }
    : undefined;
}

import type { ConditionType } from "#api/conditions.ts";
import { ETCD_CONTAINER, memberSelector, selectorText } from "#api/names.ts";
import type { ClusterIdentity, EtcdCluster, EtcdClusterStatus, MemberStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { authReady, authStatus } from "#cluster/auth/auth-ready.ts";
import { monitored } from "#cluster/exposure/monitored-condition.ts";
import { clusterIdMismatch } from "#cluster/identity/cluster-id-mismatch.ts";
import { paused } from "#cluster/lifecycle/paused.ts";
import { sleepStatus, sleeps, withPods } from "#cluster/lifecycle/sleep.ts";
import { type KnownMember, knownMembers } from "#cluster/members/members.ts";
import { quarantineStatus } from "#cluster/members/quarantined-claims.ts";
import { available } from "#cluster/readiness/available.ts";
import { backupReady, backupStatus } from "#cluster/readiness/backup-ready.ts";
import { degraded } from "#cluster/readiness/degraded.ts";
import { progressing } from "#cluster/readiness/progressing.ts";
import { ready } from "#cluster/readiness/ready.ts";
import { stalled } from "#cluster/readiness/stalled.ts";
import type { Case, Judge } from "#cluster/readiness/verdict.ts";
import { raftEntriesFrom } from "#cluster/update/raft-entries.ts";
import { isUpToDate, upToDate } from "#cluster/update/up-to-date.ts";
import { updateStatus } from "#cluster/update/update-status.ts";
import { activeWaivers } from "#cluster/update/waivers.ts";
import { tlsReady } from "#cluster-tls/check/tls-ready.ts";
import { tlsStatus } from "#cluster-tls/check/tls-status.ts";
import { compareVersions, isRelease, parseVersion } from "#etcd/version.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { type Condition, withCondition } from "#runtime/conditions.ts";
import type { FailingReason } from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";
import { type ClusterSnapshot, identityOf, isQuiet, saidByPeer } from "./snapshot.ts";
import type { ClusterStep } from "./step.ts";

/** The function that computes each condition (api/conditions.ts). */
const JUDGES: Readonly<Record<ConditionType, Judge>> = {
  Available: available,
  AuthReady: authReady,
  BackupReady: backupReady,
  ClusterIDMismatch: clusterIdMismatch,
  Degraded: degraded,
  Monitored: monitored,
  Paused: paused,
  Progressing: progressing,
  Ready: ready,
  Stalled: stalled,
  TLSReady: tlsReady,
  UpToDate: upToDate,
};

/** The new status, from the snapshot and the plan. Pure. */
export function clusterStatus(snapshot: ClusterSnapshot, plan: Plan<ClusterStep>): EtcdClusterStatus {
  const { cluster } = snapshot;
  const known = knownMembers(snapshot);
  const members = known.map((member) => memberStatus(snapshot, member));
  const own = members.filter((_, n) => known[n]?.isOurs);
  const voters = own.filter(({ role }) => role !== "Learner");
  const healthy = voters.filter((member) => member.health === "Healthy");
  const leader = members.find(({ role }) => role === "Leader")?.name;
  const version = oldestVersion(members) ?? cluster.status?.version;
  const identity = identityOf(snapshot);
  // The progress of an update cannot be observed while no member runs.
  const update = sleeps(snapshot) ? cluster.status?.update : updateStatus(snapshot);
  const sleep = sleepStatus(snapshot);
  const waivers = activeWaivers(snapshot).map(({ check, untilMs }) => ({ check, until: rfc3339(untilMs) }));
  return {
    observedGeneration: cluster.metadata.generation ?? 0,
    replicas: sleeps(snapshot) ? withPods(snapshot).length : snapshot.peers.length,
    readyReplicas: healthy.length,
    readyMembers: `${healthy.length}/${cluster.spec.replicas}`,
    selector: selectorText(memberSelector(cluster.metadata.name)),
    ...(leader === undefined ? {} : { leader }),
    ...(version === undefined ? {} : { version, clusterVersion: minorOf(version) }),
    ...(identity === undefined ? {} : { identity: asListed(snapshot, identity) }),
    ...(sleep === undefined ? {} : { sleep }),
    ...(update === undefined ? {} : { update }),
    ...(waivers.length === 0 ? {} : { waivers }),
    ...quarantineStatus(snapshot),
    ...backupStatus(snapshot),
    ...tlsStatus(snapshot),
    ...authStatus(snapshot),
    members,
    conditions: conditions({ snapshot, plan, members, own }),
  };
}

/** The identity without `adopting`, once the member list of etcd is available. */
function asListed({ members }: ClusterSnapshot, { adopting, ...identity }: ClusterIdentity): ClusterIdentity {
  return adopting === true && members.is !== "present" ? { ...identity, adopting } : identity;
}

/** Conditions about the present, which become Unknown without an observation. Ready always does. */
const OF_THE_PRESENT: readonly string[] = [
  "AuthReady",
  "Available",
  "Degraded",
  "Stalled",
  "TLSReady",
  "UpToDate",
] satisfies ConditionType[];

/**
 * The status when every observation of the cluster fails: nothing is done, and conditions about the present are
 * Unknown. The next successful observation replaces it.
 */
export function failingStatus(
  { metadata, status }: EtcdCluster,
  because: string,
  nowMs: number,
  reason: FailingReason = "InternalError",
): EtcdClusterStatus {
  const verdict = { reason, message: because, observedGeneration: metadata.generation ?? 0 } as const;
  const now = rfc3339(nowMs);
  const before = status?.conditions ?? [];
  const types = before.map(({ type }) => type).filter((type) => OF_THE_PRESENT.includes(type));
  const unknown = ["Ready", ...types].map((type) => ({ type, status: "Unknown" as const, ...verdict }));
  const standstill = { type: "Progressing", status: "False" as const, ...verdict };
  const conditions = [standstill, ...unknown].reduce((all, each) => withCondition(all, each, now), before);
  return { ...status, conditions };
}

/**
 * Whether the write of the status can wait: the cluster is only seconds old, and its status already has reason Forming.
 */
export function mayWait(snapshot: ClusterSnapshot, status: EtcdClusterStatus): boolean {
  const before = snapshot.cluster.status?.conditions ?? [];
  const isOld = ({ type, reason }: { type: string; reason: string }) =>
    (reason === "Forming" || reason === "NotStalled") &&
    before.some((condition) => condition.type === type && condition.reason === reason);
  return isQuiet(snapshot) && status.conditions?.every(isOld) === true;
}

function memberStatus(snapshot: ClusterSnapshot, member: KnownMember): MemberStatus {
  const { name, id, isLearner, isOurs, health } = member;
  const status = "status" in health ? health.status : undefined;
  const leads = status !== undefined && status.leaderId === status.memberId;
  const asleep = sleeps(snapshot) ? "it is stopped: spec.replicas is 0" : undefined;
  const isWell = health.is === "healthy" || isQuiet(snapshot);
  const why = isWell ? undefined : (asleep ?? whyUnhealthy(snapshot, name, health.why));
  const message = isOurs ? why : "not added by the operator: its vote counts, and the operator does not dial it";
  const recorded = snapshot.cluster.status?.members?.find((each) => each.id === id);
  const version = status?.version ?? recorded?.version; // The last known version counts until the member reports another.
  const entriesFrom = raftEntriesFrom(snapshot, member);
  return {
    name,
    id,
    role: isLearner ? "Learner" : leads ? "Leader" : "Voter",
    health: health.is === "healthy" ? "Healthy" : isOurs ? "Unhealthy" : "Unknown",
    ...(version === undefined ? {} : { version }),
    ...(entriesFrom === undefined ? {} : { raftEntriesFrom: entriesFrom }),
    ...(isOurs ? { upToDate: isUpToDate(snapshot, name) } : {}),
    ...(health.is === "healthy" || health.is === "unpublished" ? {} : { since: sickSince(snapshot, member) }),
    ...(message === undefined ? {} : { message }),
  };
}

/**
 * Two times that differ by less than this count as equal, in milliseconds. Status times have whole seconds, and clocks
 * are adjusted. Larger: a second outage shortly after the first would keep the time of the first.
 */
const SAME_MOMENT_MS = 2_000;

/**
 * The time of the first observation that found the member unhealthy. Kept across observations and restarts of the
 * operator, until the member is healthy.
 */
function sickSince(snapshot: ClusterSnapshot, { id, history }: KnownMember): string {
  const { sickForMs, wellMsAgo } = history;
  const recorded = snapshot.cluster.status?.members?.find((member) => member.id === id)?.since;
  const lastWellMs = wellMsAgo === undefined ? Number.NEGATIVE_INFINITY : snapshot.takenAtMs - wellMsAgo;
  const holds = recorded !== undefined && Date.parse(recorded) >= lastWellMs - SAME_MOMENT_MS;
  return holds ? recorded : rfc3339(snapshot.takenAtMs - sickForMs);
}

/** The reason from Kubernetes, when the pod does not run: it explains more than "no answer". */
function whyUnhealthy(snapshot: ClusterSnapshot, name: string, why: string): string {
  const pod = snapshot.pods.get(name);
  const notRunning = pod === undefined ? why : whyNotRunning(pod, ETCD_CONTAINER);
  return notRunning === undefined ? why : (saidByPeer(snapshot, name) ?? notRunning);
}

/** The cluster version of etcd: the oldest member's minor with patch 0. */
function minorOf(version: string): string {
  return version.replace(/\.\d+$/, ".0");
}

function oldestVersion(members: readonly MemberStatus[]): string | undefined {
  // A custom build may have any version: it is shown with its member but not compared.
  const versions = members.flatMap(({ version }) => (version !== undefined && isRelease(version) ? [version] : []));
  return versions.sort((a, b) => compareVersions(parseVersion(a), parseVersion(b)))[0];
}

function conditions(input: Case): Condition[] {
  const { cluster, takenAtMs } = input.snapshot;
  const now = rfc3339(takenAtMs);
  const observedGeneration = cluster.metadata.generation ?? 0;
  return Object.entries(JUDGES).reduce(
    (all, [type, judge]) => {
      const verdict = judge(input);
      return verdict === undefined ? all : withCondition(all, { type, ...verdict, observedGeneration }, now);
    },
    [...(cluster.status?.conditions ?? [])],
  );
}

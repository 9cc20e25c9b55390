import type { ConditionType } from "#api/conditions.ts";
import { ETCD_CONTAINER, memberSelector, selectorText } from "#api/names.ts";
import type { EtcdCluster, EtcdClusterStatus, MemberStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { servedStatus } from "#cluster/certificates/both-served.ts";
import { authReady, authStatus } from "#cluster/conditions/auth-ready.ts";
import { available } from "#cluster/conditions/available.ts";
import { backupReady, backupStatus } from "#cluster/conditions/backup-ready.ts";
import { clusterIdMismatch } from "#cluster/conditions/cluster-id-mismatch.ts";
import { degraded } from "#cluster/conditions/degraded.ts";
import { monitored } from "#cluster/conditions/monitored.ts";
import { paused } from "#cluster/conditions/paused.ts";
import { progressing } from "#cluster/conditions/progressing.ts";
import { ready } from "#cluster/conditions/ready.ts";
import { certificateStatus, tlsReady } from "#cluster/conditions/tls-ready.ts";
import { isUpToDate, upToDate } from "#cluster/conditions/up-to-date.ts";
import type { Case, Judge } from "#cluster/conditions/verdict.ts";
import { type KnownMember, knownMembers } from "#cluster/members.ts";
import { sleepStatus, sleeps, withPods } from "#cluster/sleep.ts";
import { type ClusterSnapshot, healthOf, identityOf, isQuiet, saidByPeer } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { updateStatus } from "#cluster/update-status.ts";
import { activeWaivers } from "#cluster/waivers.ts";
import { compareVersions, isRelease, parseVersion } from "#etcd/version.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { type Condition, withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";

/** Every condition, by the question that it answers (api/conditions.ts). */
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
  TLSReady: tlsReady,
  UpToDate: upToDate,
};

/** What was seen and is meant, for people and for other software. Pure. */
export function clusterStatus(snapshot: ClusterSnapshot, plan: Plan<ClusterStep>): EtcdClusterStatus {
  const { cluster } = snapshot;
  const known = knownMembers(snapshot);
  const members = known.map((member) => memberStatus(snapshot, member));
  const own = members.filter((_, n) => known[n]?.isOurs);
  const voters = own.filter((member) => !member.learner);
  const healthy = voters.filter((member) => member.healthy);
  const leader = members.find((member) => member.leader)?.name;
  const version = oldestVersion(members) ?? cluster.status?.version;
  const identity = identityOf(snapshot);
  // How far an update is cannot be seen while nobody runs.
  const update = sleeps(snapshot) ? cluster.status?.update : updateStatus(snapshot);
  const sleep = sleepStatus(snapshot);
  const waivers = activeWaivers(snapshot).map(({ check, untilMs }) => ({ check, until: rfc3339(untilMs) }));
  return {
    observedGeneration: cluster.metadata.generation ?? 0,
    replicas: sleeps(snapshot) ? withPods(snapshot).length : snapshot.peers.length,
    readyReplicas: healthy.length,
    ready: `${healthy.length}/${cluster.spec.replicas}`,
    selector: selectorText(memberSelector(cluster.metadata.name)),
    ...(leader === undefined ? {} : { leader }),
    ...(version === undefined ? {} : { version, clusterVersion: minorOf(version) }),
    ...(identity === undefined ? {} : { identity }),
    ...(sleep === undefined ? {} : { sleep }),
    ...(update === undefined ? {} : { update }),
    ...(waivers.length === 0 ? {} : { waivers }),
    ...backupStatus(snapshot),
    ...certificateStatus(snapshot),
    ...servedStatus(snapshot),
    ...authStatus(snapshot),
    members,
    conditions: conditions({ snapshot, plan, members, own }),
  };
}

/** Questions about the present, which only a look can answer. That of Ready is answered in any case. */
const OF_THE_PRESENT: readonly string[] = [
  "AuthReady",
  "Available",
  "Degraded",
  "TLSReady",
  "UpToDate",
] satisfies ConditionType[];

/**
 * The status as it is, and that no look at the cluster comes to its end: nothing is done then, and whether all is well nobody knows. The next
 * look that does says something else.
 */
export function failingStatus({ metadata, status }: EtcdCluster, because: string, nowMs: number): EtcdClusterStatus {
  const verdict = { reason: "InternalError", message: because, observedGeneration: metadata.generation ?? 0 } as const;
  const now = rfc3339(nowMs);
  const before = status?.conditions ?? [];
  const told = before.map(({ type }) => type).filter((type) => OF_THE_PRESENT.includes(type));
  const unknown = ["Ready", ...told].map((type) => ({ type, status: "Unknown" as const, ...verdict }));
  const standstill = { type: "Progressing", status: "False" as const, ...verdict };
  const conditions = [standstill, ...unknown].reduce((all, each) => withCondition(all, each, now), before);
  return { ...status, conditions };
}

/** Whether the status is not worth a write yet: a cluster that is seconds old is being formed, as it says already. */
export function mayWait(snapshot: ClusterSnapshot, status: EtcdClusterStatus): boolean {
  const before = snapshot.cluster.status?.conditions ?? [];
  const isOld = ({ type, reason }: { type: string; reason: string }) =>
    reason === "Forming" && before.some((condition) => condition.type === type && condition.reason === reason);
  return isQuiet(snapshot) && status.conditions?.every(isOld) === true;
}

function memberStatus(snapshot: ClusterSnapshot, { name, id, isLearner, isOurs }: KnownMember): MemberStatus {
  const health = healthOf(snapshot, name, id);
  const status = "status" in health ? health.status : undefined;
  const asleep = sleeps(snapshot) ? "it is stopped: spec.replicas is 0" : undefined;
  const isWell = health.is === "healthy" || isQuiet(snapshot);
  const why = isWell ? undefined : (asleep ?? whyUnhealthy(snapshot, name, health.why));
  const message = isOurs ? why : "somebody else has added it: the operator counts it, and does not ask it how it is";
  const recorded = snapshot.cluster.status?.members?.find((member) => member.id === id);
  const version = status?.version ?? recorded?.version; // What it ran last counts until it says otherwise.
  return {
    name,
    id,
    healthy: health.is === "healthy",
    leader: status !== undefined && status.leaderId === status.memberId,
    learner: isLearner,
    ...(version === undefined ? {} : { version }),
    ...(isOurs ? { upToDate: isUpToDate(snapshot, name) } : {}),
    ...(health.is === "healthy" || health.is === "unpublished" ? {} : { since: sickSince(snapshot, id) }),
    ...(message === undefined ? {} : { message }),
  };
}

/** Two times that differ by less than this, in milliseconds, are the same: the status has whole seconds, and clocks are set. */
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
  const notRunning = pod === undefined ? why : whyNotRunning(pod, ETCD_CONTAINER);
  return notRunning === undefined ? why : (saidByPeer(snapshot, name) ?? notRunning);
}

/** etcd's cluster version is the oldest member's minor with patch 0. */
function minorOf(version: string): string {
  return version.replace(/\.\d+$/, ".0");
}

function oldestVersion(members: readonly MemberStatus[]): string | undefined {
  // A build of somebody's own may call itself anything; it is shown with its member but not compared.
  const versions = members.flatMap(({ version }) => (version !== undefined && isRelease(version) ? [version] : []));
  return versions.sort((a, b) => compareVersions(parseVersion(a), parseVersion(b)))[0];
}

function conditions(given: Case): Condition[] {
  const { cluster, takenAtMs } = given.snapshot;
  const now = rfc3339(takenAtMs);
  const observedGeneration = cluster.metadata.generation ?? 0;
  return Object.entries(JUDGES).reduce(
    (all, [type, judge]) => {
      const verdict = judge(given);
      return verdict === undefined ? all : withCondition(all, { type, ...verdict, observedGeneration }, now);
    },
    [...(cluster.status?.conditions ?? [])],
  );
}

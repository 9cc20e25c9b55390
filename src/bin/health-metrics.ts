import { Counter, Gauge, type Registry } from "prom-client";
import type { ConditionType, Reason } from "#api/conditions.ts";
import { pausedBy } from "#api/pause.ts";
import { isAsleep } from "#api/sleep.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { LastCheck } from "#cluster/observe/last-checks.ts";
import { quorumOf } from "#etcd/quorum.ts";

// Health of each cluster, computed from the caches while a scrape waits. A label `cluster` would collide with the
// external label of that name that many Prometheus servers add.

const PREFIX = "etcd_operator_";
const CLUSTER = ["namespace", "name"] as const;
const MEMBER = [...CLUSTER, "member"] as const;
/** No valid spec has this many members. Without a limit, a broken status could fill Prometheus. */
const MOST_MEMBERS = 16;

/** The status of each condition in a healthy cluster. Exported for tests. Progressing has none: work on a cluster is no trouble. */
export const NORMAL: Readonly<Record<Exclude<ConditionType, "Progressing">, "True" | "False">> = {
  Ready: "True",
  Available: "True",
  Degraded: "False",
  UpToDate: "True",
  Stalled: "False",
  BackupReady: "True",
  Paused: "False",
  Monitored: "True",
  TLSReady: "True",
  AuthReady: "True",
  ClusterIDMismatch: "False",
};
/** Reasons of conditions that are as the spec asks for, whatever their status. */
const INTENDED: ReadonlySet<string> = new Set<Reason>([
  "Asleep",
  "AuthDisabled",
  "NoSchedule",
  "NotMonitored",
  "TLSDisabled",
]);

/**
 * Reasons of Available with which the number of healthy voters is known. While the cluster forms, wakes or cannot be
 * reached, the recorded members are no evidence of a lost quorum.
 */
const MARGIN_KNOWN: ReadonlySet<string> = new Set<Reason>([
  "QuorumAvailable",
  "QuorumLost",
  "CorruptionAlarm",
  "NoSpaceAlarm",
]);

/** A cluster that this process manages. */
export interface Managed {
  readonly cluster: EtcdCluster;
  /** Undefined before the first check by this process. */
  readonly check: LastCheck | undefined;
  /** When this process began to lead the cluster, in milliseconds since 1970. Undefined: it has not begun yet. */
  readonly ledSinceMs: number | undefined;
  /** Zone of each member's pod, by the member's name. */
  readonly zones: ReadonlyMap<string, string>;
}

/**
 * Registers the metrics of the health of each cluster. A healthy cluster of three members has 16 series. Each abnormal
 * condition and each waived check adds one: at most 35.
 * @param managed the clusters that this process manages; called once for each scrape
 */
export function healthMetrics(registry: Registry, managed: () => readonly Managed[]): void {
  const gauges = gaugesIn(registry);
  const all = Object.values(gauges);
  const collect = (): void => {
    for (const each of all) each.reset(); // Removes the series of deleted clusters.
    for (const each of managed()) {
      reportCluster(gauges, each);
      reportMembers(gauges, each);
    }
  };
  // prom-client collects metrics in the order of their creation; the first one collects for all.
  Object.assign(gauges.wanted, { collect });
}

type Gauges = ReturnType<typeof gaugesIn>;

function gaugesIn(registry: Registry) {
  const registers = [registry];
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: PREFIX + name, help, labelNames, registers });
  return {
    wanted: gauge(
      "cluster_members_wanted",
      "Voting members that the spec asks for. 0 when the cluster sleeps or is about to.",
      CLUSTER,
    ),
    members: gauge(
      "cluster_members",
      "All members in etcd's list, with learners and members that the operator did not add.",
      CLUSTER,
    ),
    healthy: gauge("cluster_members_healthy", "Healthy voting members.", CLUSTER),
    learners: gauge("cluster_learners", "Members without a vote. A cluster without any has no series.", CLUSTER),
    margin: gauge(
      "cluster_quorum_margin",
      "Healthy voters beyond the quorum: how many may be lost. Negative without a quorum. No series while the cluster forms, sleeps, wakes or cannot be reached.",
      CLUSTER,
    ),
    paused: gauge("cluster_paused", "1 while the operator is paused for the cluster, otherwise no series.", CLUSTER),
    sleeping: gauge("cluster_sleeping", "1 while the cluster sleeps, otherwise no series.", CLUSTER),
    stopped: gauge("cluster_update_stopped", "1 while an update is stopped, otherwise no series.", CLUSTER),
    waiver: gauge(
      "cluster_waiver_end_timestamp_seconds",
      "When a waived check applies again, since 1970. Checks that are not waived have no series.",
      [...CLUSTER, "check"],
    ),
    abnormal: gauge(
      "cluster_abnormal_condition",
      "1 for each condition with a status that a healthy cluster does not have, unless the spec asks for it.",
      [...CLUSTER, "type", "status", "reason"],
    ),
    leaderChanges: new Counter({
      name: `${PREFIX}cluster_leader_changes_total`,
      help: "Checks that found a leader of a later term than the check before, since this process started.",
      labelNames: CLUSTER,
      registers,
    }),
    lastCheck: gauge(
      "cluster_last_check_timestamp_seconds",
      "When this process last checked the members, since 1970. Before the first check: when it began to lead, or when the cluster was created. At rest it checks every 10 s, in a large fleet every minute.",
      CLUSTER,
    ),
    quota: gauge(
      "cluster_database_quota_bytes",
      "Smallest quota of the members' databases, as last reported. No series with etcd before 3.6, which does not report its quota.",
      CLUSTER,
    ),
    isHealthy: gauge(
      "member_healthy",
      "1 when the member is healthy, else 0. Members that the operator did not add have no series. Before Kubernetes 1.35 the label zone is empty.",
      [...MEMBER, "zone"],
    ),
    size: gauge("member_database_bytes", "Size of the member's database file at the last check.", MEMBER),
    inUse: gauge(
      "member_database_in_use_bytes",
      "Part of the database file in use at the last check. Defragmentation frees the rest.",
      MEMBER,
    ),
  };
}

function reportCluster(gauges: Gauges, { cluster, check, ledSinceMs }: Managed): void {
  const { metadata, spec, status } = cluster;
  const labels = { namespace: metadata.namespace, name: metadata.name };
  const { replicas }: Partial<EtcdCluster["spec"]> = spec; // The stub of a cluster that is too large has none.
  if (replicas !== undefined) gauges.wanted.set(labels, replicas);
  if (pausedBy(cluster) !== undefined) gauges.paused.set(labels, 1);
  if (isAsleep(cluster)) gauges.sleeping.set(labels, 1);
  if (status?.update?.stopped !== undefined) gauges.stopped.set(labels, 1);
  for (const { check: waived, until } of status?.waivers ?? [])
    gauges.waiver.set({ ...labels, check: waived }, Date.parse(until) / 1_000);
  for (const { type, status: is, reason } of status?.conditions ?? []) {
    const normal = NORMAL[type as keyof typeof NORMAL];
    if (normal !== undefined && is !== normal && !INTENDED.has(reason))
      gauges.abnormal.set({ ...labels, type, status: is, reason }, 1);
  }
  const checkedAtMs = check?.atMs ?? awaitedSinceMs(cluster, ledSinceMs);
  if (checkedAtMs !== undefined) gauges.lastCheck.set(labels, checkedAtMs / 1_000);
  if (check === undefined) return;
  gauges.leaderChanges.inc(labels, check.leaderChanges);
  const quotas = [...check.databases.values()].flatMap(({ dbSizeQuotaBytes }) => dbSizeQuotaBytes ?? []);
  if (quotas.length > 0) gauges.quota.set(labels, Math.min(...quotas));
}

/** Since when a first check is due. Undefined: none is due yet. */
function awaitedSinceMs({ metadata }: EtcdCluster, ledSinceMs: number | undefined): number | undefined {
  if (ledSinceMs === undefined) return undefined;
  const createdMs = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(createdMs) ? ledSinceMs : Math.max(ledSinceMs, createdMs);
}

/** Whether the number of healthy voters is known. */
function isMarginKnown({ status }: EtcdCluster): boolean {
  return status?.conditions?.some(({ type, reason }) => type === "Available" && MARGIN_KNOWN.has(reason)) ?? false;
}

function reportMembers(gauges: Gauges, { cluster, check, zones }: Managed): void {
  const { metadata, status } = cluster;
  const labels = { namespace: metadata.namespace, name: metadata.name };
  const { members } = status ?? {};
  if (members === undefined) return;
  const voters = members.filter(({ role }) => role !== "Learner");
  const healthy = voters.filter(({ health }) => health === "Healthy").length;
  gauges.members.set(labels, members.length);
  gauges.healthy.set(labels, healthy);
  if (members.length > voters.length) gauges.learners.set(labels, members.length - voters.length);
  if (voters.length > 0 && isMarginKnown(cluster)) gauges.margin.set(labels, healthy - quorumOf(voters.length));
  // The names of other members are whatever a client wrote.
  for (const { name: member, health } of members.filter(({ health }) => health !== "Unknown").slice(0, MOST_MEMBERS)) {
    const zone = zones.get(member);
    const place = zone === undefined ? {} : { zone };
    gauges.isHealthy.set({ ...labels, member, ...place }, health === "Healthy" ? 1 : 0);
    const database = check?.databases.get(member);
    if (database === undefined) continue;
    gauges.size.set({ ...labels, member }, database.dbSizeBytes);
    gauges.inUse.set({ ...labels, member }, database.dbSizeInUseBytes);
  }
}

import { CLUSTER_LABEL, ETCD_CONTAINER, FIRST_BACKUP_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { isSameData } from "#base/hash.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { stateOf } from "#cluster/auth/hindrance.ts";
import { AuthReads } from "#cluster/auth/reads.ts";
import { Monitoring } from "#cluster/exposure/monitoring.ts";
import { Forecasts } from "#cluster/forecast/forecasts.ts";
import { HealthLog } from "#cluster/members/health-log.ts";
import { type ClusterReads, observeCluster } from "#cluster/observe/observe.ts";
import { QuickChecks } from "#cluster/observe/quick-checks.ts";
import { restMs } from "#cluster/observe/rest.ts";
import { BindingTimes } from "#cluster-tls/read/binding-times.ts";
import { AUTHORITY_OF } from "#cluster-tls/read/purposes.ts";
import { CertificateReads } from "#cluster-tls/read/reads.ts";
import type { KubeObject } from "#kube/kinds.ts";
import type { Controller, Key } from "#runtime/controller.ts";
import { Silences } from "#runtime/silences.ts";
import { statusWriter } from "#runtime/status-writer.ts";
import { actOnCluster, type ClusterWrites } from "./act.ts";
import { planCluster } from "./plan.ts";
import { type ClusterSnapshot, identityOf, isForming } from "./snapshot.ts";
import { clusterStage } from "./stage.ts";
import { clusterStatus, failingStatus, mayWait } from "./status.ts";
import { type AuthStep, type ClusterStep, targetOf } from "./step.ts";

/**
 * Steps without an event of their own: every cluster takes them while it forms, or every member in an update that
 * succeeds. The events of `record-identity` and `record-joined` cover the former.
 */
const ROUTINE = new Set([
  "headless-service createService",
  "bootstrap createPeer",
  "client-service createService",
  "disruption-budget createBudget",
  "network-policy createNetworkPolicy",
  "fence replacePeer",
  "drop-previous-template replacePeer",
]);

/** Steps without an event while the cluster forms; later ones have an event. */
const FIRST: ReadonlySet<string> = new Set(["issueAuthority", "issueLeaf", "createTrustMap", "createRequest"]);

/**
 * Whether the step records some of the first members, but not the last. The step that records the last has the event.
 */
function isPartOfForming(step: ClusterStep, snapshot: ClusterSnapshot): boolean {
  if (step.do !== "recordJoined") return false;
  const waiting = identityOf(snapshot)?.initialMembers.filter(({ joined }) => !joined) ?? [];
  return waiting.length > step.names.length;
}

/** Steps after which the PodMonitor is read again. */
const ABOUT_MONITORS: ReadonlySet<string> = new Set(["createMonitor", "replaceMonitor", "deleteMonitor"]);

/** Steps after which the users of etcd are read again. */
const ABOUT_AUTH: ReadonlySet<string> = new Set<AuthStep["do"]>([
  "createRootSecret",
  "setRootPassword",
  "addUser",
  "grantRole",
  "enableAuth",
  "disableAuth",
]);

/** What has to be read again after the step, because no watch reports the change. */
function changedBy(step: ClusterStep): Parameters<CertificateReads["hasChanged"]>[1] | undefined {
  switch (step.do) {
    case "issueAuthority":
    case "rotateAuthority":
      return AUTHORITY_OF[step.side];
    case "issueLeaf":
    case "spreadTrust":
      return step.purpose;
    case "markRemoval":
    case "restartPod":
      return "peer";
    case "createTrustMap":
    case "replaceTrustMap":
      return "trustMap";
    case "createRequest":
    case "replaceRequest":
      return `request ${step.purpose}`;
    case "publishClientSecret":
      return "clientSecret";
    default:
      return undefined;
  }
}

/** The controller of EtcdCluster: observe, plan, act and status. */
export function clusterController(
  writes: ClusterWrites,
  reads: ClusterReads & { readonly identities: Keyring },
): Controller<ClusterSnapshot, ClusterStep, EtcdClusterStatus> {
  const monitoring = new Monitoring(reads.kube, reads.clock);
  const certificates = new CertificateReads(reads.kube, reads.clock, reads.identities);
  const auth = new AuthReads(reads);
  const memory = {
    auth,
    certificates,
    bindings: new BindingTimes(reads.clock),
    healthLog: new HealthLog(reads.onGap),
    silences: new Silences(reads.clock, ETCD_CONTAINER),
    monitoring,
  };
  const quickChecks = new QuickChecks({ reads, certificates, healthLog: memory.healthLog });
  /** Snapshots for which the stored status is up to date. */
  const unchanged = new WeakSet<ClusterSnapshot>();
  const forecasts = new Forecasts(reads.clock);
  const report = statusWriter({
    kube: writes.kube,
    resource: ETCD_CLUSTERS,
    cache: reads.clusters,
    clock: reads.clock,
    failing: failingStatus,
    objectOf: ({ cluster }: ClusterSnapshot) => cluster,
  });
  return {
    name: "cluster",
    stageOf: (key) => clusterStage(reads.clusters.get(key)),
    quickCheck: (key, signal) => quickChecks.quickCheck(key, signal),
    restMs: (snapshot, plan) => {
      quickChecks.note(snapshot, unchanged.has(snapshot) ? plan : undefined);
      return restMs(snapshot, quickChecks.settled, reads.clock.monotonicMs());
    },
    isRoutine: (rule, step, snapshot) =>
      ROUTINE.has(`${rule} ${step.do}`) ||
      (isForming(snapshot) && FIRST.has(step.do)) ||
      isPartOfForming(step, snapshot),
    observe: (key, signal) => observeCluster(reads, memory, key, signal),
    plan: planCluster,
    target: targetOf,
    act: async (step, snapshot, signal) => {
      const changed = changedBy(step);
      if (changed !== undefined) certificates.hasChanged(snapshot.cluster.metadata, changed);
      if (ABOUT_MONITORS.has(step.do)) monitoring.forget(snapshot.cluster.metadata);
      if (ABOUT_AUTH.has(step.do)) auth.hasChanged(snapshot.cluster.metadata);
      const written = await actOnCluster(writes, step, snapshot, signal);
      if (changed !== undefined && written.kind === "unwatched")
        certificates.hasWritten(snapshot.cluster.metadata, changed, written.object);
      // Only while authentication is off: once it is on, a log-in with the password is the proof.
      if (step.do === "setRootPassword" && stateOf(snapshot)?.enabled === false)
        auth.hasProved(snapshot.cluster.metadata, step.secret);
      return written;
    },
    status: (snapshot, plan) => {
      const status = clusterStatus(snapshot, plan);
      const dryRun = forecasts.of(snapshot);
      return dryRun === undefined ? status : { ...status, dryRun };
    },
    ...report,
    writeStatus: async (snapshot, status, signal) => {
      if (isSameData(status, snapshot.cluster.status ?? {})) unchanged.add(snapshot);
      return mayWait(snapshot, status) ? undefined : await report.writeStatus(snapshot, status, signal);
    },
  };
}

/** The cluster with an upgrade that waits for the backup. */
export function clusterKeysForBackup(object: KubeObject): readonly Key[] {
  const { namespace, annotations } = object.metadata;
  const name = (object as EtcdBackup).spec.source.cluster?.name;
  const isFirst = annotations?.[FIRST_BACKUP_ANNOTATION] !== undefined;
  return isFirst && name !== undefined && namespace !== undefined ? [{ namespace, name }] : [];
}

/** The cluster that a schedule backs up. */
export function clusterKeysForSchedule({ metadata, spec }: EtcdBackupSchedule): readonly Key[] {
  const name = spec.backupTemplate.spec.source.cluster?.name;
  return name === undefined ? [] : [{ namespace: metadata.namespace, name }];
}

/** The cluster that a labelled object belongs to: peers, claims, pods, Services, budgets and network policies all carry the label. */
export function clusterKeysFor(object: KubeObject): readonly Key[] {
  const name = object.metadata.labels?.[CLUSTER_LABEL];
  const { namespace } = object.metadata;
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}

import { CLUSTER_LABEL, ETCD_CONTAINER, FIRST_BACKUP_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster, type EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { isSameData } from "#base/hash.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { actOnCluster, type ClusterWrites, writeStatus } from "#cluster/act.ts";
import { stateOf } from "#cluster/auth/hindrance.ts";
import { AuthReads } from "#cluster/auth/reads.ts";
import { BindingTimes } from "#cluster/certificates/binding-times.ts";
import { AUTHORITY_OF } from "#cluster/certificates/purposes.ts";
import { CertificateReads } from "#cluster/certificates/reads.ts";
import { Forecasts } from "#cluster/forecasts.ts";
import { Glances } from "#cluster/glances.ts";
import { HealthLog } from "#cluster/health-log.ts";
import { Monitoring } from "#cluster/monitoring.ts";
import { type ClusterReads, observeCluster } from "#cluster/observe.ts";
import { planCluster } from "#cluster/plan.ts";
import { restMs } from "#cluster/rest.ts";
import { type ClusterSnapshot, identityOf, isForming } from "#cluster/snapshot.ts";
import { clusterStage } from "#cluster/stage.ts";
import { clusterStatus, failingStatus, mayWait } from "#cluster/status.ts";
import { type AuthStep, type ClusterStep, targetOf } from "#cluster/step.ts";
import { apiVersionOf, type KubeObject } from "#kube/kinds.ts";
import type { Controller, Key, Subject } from "#runtime/controller.ts";
import { Silences } from "#runtime/silences.ts";

/**
 * Steps that every cluster goes through while it is formed, of which the events of `record-identity` and `record-joined` tell; and what each member
 * of an update comes to that goes well.
 */
const ROUTINE = new Set([
  "headless-service createService",
  "bootstrap createPeer",
  "client-service createService",
  "disruption-budget createBudget",
  "network-policy createNetworkPolicy",
  "fence replacePeer",
  "forget-previous replacePeer",
]);

/** Steps that are told only when they are made again. */
const FIRST: ReadonlySet<string> = new Set(["issueAuthority", "issueLeaf", "createTrustMap", "createRequest"]);

/** Whether the step records some of the first members and not the last: one event, with the last, tells that all have joined. */
function isPartOfForming(step: ClusterStep, snapshot: ClusterSnapshot): boolean {
  if (step.do !== "recordJoined") return false;
  const waiting = identityOf(snapshot)?.initialMembers.filter(({ joined }) => !joined) ?? [];
  return waiting.length > step.names.length;
}

/** After them the PodMonitor is read anew. */
const ABOUT_MONITORS: ReadonlySet<string> = new Set(["createMonitor", "replaceMonitor", "deleteMonitor"]);

/** After them etcd is asked anew for its users. */
const ABOUT_AUTH: ReadonlySet<string> = new Set<AuthStep["do"]>([
  "createRootSecret",
  "setRootPassword",
  "addUser",
  "grantRole",
  "enableAuth",
  "disableAuth",
]);

/** What is read anew after the step: no watch tells of it. */
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
    case "handOut":
      return "handout";
    default:
      return undefined;
  }
}

/** Joins what the room of EtcdCluster does: observe, plan, act and status. */
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
  const glances = new Glances({ reads, certificates, healthLog: memory.healthLog });
  /** Snapshots of which the cluster says already what there is to say. */
  const told = new WeakSet<ClusterSnapshot>();
  const forecasts = new Forecasts(reads.clock);
  return {
    name: "cluster",
    stageOf: (key) => clusterStage(reads.clusters.get(key)),
    glance: (key, signal) => glances.glance(key, signal),
    restMs: (snapshot, plan) => {
      glances.note(snapshot, told.has(snapshot) ? plan : undefined);
      return restMs(snapshot, glances.settled, reads.clock.monotonicMs());
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
      // While etcd asks for users, it is asked for the proof.
      if (step.do === "setRootPassword" && stateOf(snapshot)?.enabled === false)
        auth.hasProved(snapshot.cluster.metadata, step.secret);
      return written;
    },
    status: (snapshot, plan) => {
      const status = clusterStatus(snapshot, plan);
      const foretold = forecasts.of(snapshot);
      return foretold === undefined ? status : { ...status, plan: foretold };
    },
    writeStatus: (snapshot, status, signal) => {
      const isSame = isSameData(status, snapshot.cluster.status ?? {});
      if (isSame) told.add(snapshot);
      return isSame || mayWait(snapshot, status)
        ? Promise.resolve(undefined)
        : writeStatus(writes.kube, snapshot, status, signal);
    },
    subject: ({ cluster }) => subjectOf(cluster),
    subjectOf: (key) => {
      const cluster = reads.clusters.get(key);
      return cluster && subjectOf(cluster);
    },
    writeFailing: (key, because, signal) => {
      const cluster = reads.clusters.get(key);
      if (cluster === undefined) return Promise.resolve(undefined);
      const status = failingStatus(cluster, because, reads.clock.wallMs());
      return isSameData(status, cluster.status ?? {})
        ? Promise.resolve(undefined)
        : writeStatus(writes.kube, { cluster }, status, signal);
    },
  };
}

function subjectOf({ metadata: { namespace, name, uid } }: EtcdCluster): Subject {
  return { apiVersion: apiVersionOf(ETCD_CLUSTERS), kind: ETCD_CLUSTERS.kind, namespace, name, uid };
}

/** The cluster whose upgrade waits for the backup. */
export function clusterKeysForBackup(object: KubeObject): readonly Key[] {
  const { namespace, annotations } = object.metadata;
  const { clusterName: name } = (object as EtcdBackup).spec.source;
  const isFirst = annotations?.[FIRST_BACKUP_ANNOTATION] !== undefined;
  return isFirst && name !== undefined && namespace !== undefined ? [{ namespace, name }] : [];
}

/** The cluster that a schedule backs up. */
export function clusterKeysForSchedule({ metadata, spec }: EtcdBackupSchedule): readonly Key[] {
  const name = spec.backupTemplate.source.clusterName;
  return name === undefined ? [] : [{ namespace: metadata.namespace, name }];
}

/** The cluster that a labelled object belongs to: peers, claims, pods, Services, budgets and network policies all carry the label. */
export function clusterKeysFor(object: KubeObject): readonly Key[] {
  const name = object.metadata.labels?.[CLUSTER_LABEL];
  const { namespace } = object.metadata;
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}

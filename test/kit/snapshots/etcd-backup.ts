import { type AgentReport, type BackupObject, failure, reportText } from "#agent/report.ts";
import { type Attempted, attempted as joined } from "#agent-job/job-state.ts";
import type { Target } from "#agent-job/target.ts";
import { BACKUP_DESTINATION_LABEL, backupLabels, OBJECT_FINALIZER, SCHEDULE_LABEL } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup, type EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import { backupSpecSchema } from "#api/v1beta1/backup-schema.ts";
import type { EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import { backupJob, checkJob, deletionJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { targetOf } from "#backup/target.ts";
import { apiVersionOf, type Draft, type Job, type PersistentVolumeClaim, type Pod } from "#kube/kinds.ts";
import { born, claim, cluster, NOW } from "./cluster.ts";

export const IMAGE = "registry.example/etcd-cluster-operator:1";

/** Running backups that take every place, none of them in the namespace of the backup. */
export const BUSY = { all: 20, inNamespace: 0, most: 20 };

/** Part of a spec: backups are stored on this claim. */
export const ON_VOLUME = { destination: { volume: { claimName: "backups" } } };

/** Every field of a backup's pod template. */
export const POD_TEMPLATE = {
  metadata: { labels: { "azure.workload.identity/use": "true" }, annotations: { "linkerd.io/inject": "disabled" } },
  spec: {
    serviceAccountName: "backup",
    nodeSelector: { disk: "fast" },
    tolerations: [{ key: "backups", operator: "Exists" as const, effect: "NoSchedule" as const }],
    priorityClassName: "low",
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    securityContext: { runAsUser: null, runAsGroup: 1_000, fsGroup: 1_000 },
    resources: { limits: { memory: "1Gi" } },
    etcdResources: { limits: { memory: "2Gi" } },
    imagePullSecrets: [{ name: "registry" }],
  },
};

/** A claim with these labels; by default with the one that permits backups. */
export function destinationClaim(
  labels: Readonly<Record<string, string>> = { [BACKUP_DESTINATION_LABEL]: "true" },
  annotations: Readonly<Record<string, string>> = {},
): PersistentVolumeClaim {
  const made = claim("backups");
  return { ...made, metadata: { ...made.metadata, labels, annotations } };
}

/** How far the backup of a snapshot has progressed. */
export type BackupStage = "new" | "made" | "starting" | "running" | "succeeded" | "failed";

interface Given {
  /** Default: "running". new: no Job; made: no pod; starting: a pod that does not run yet. */
  readonly stage?: BackupStage;
  /** The spec as a person would write it. */
  readonly spec?: object;
  readonly status?: EtcdBackupStatus;
  readonly deleting?: boolean;
  readonly held?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The agent's report; default: the object is stored, or the store is full. */
  readonly report?: AgentReport;
  /** Overrides of the finished snapshot. */
  readonly with?: Partial<BackupSnapshot>;
}

/** When Job and pod were made: ten seconds ago. */
export const MADE_AT = "2026-01-01T11:59:50Z";

export const STORED: BackupObject = {
  key: "k",
  bytes: 1_000,
  storedBytes: 900,
  sha256: "ab",
  revision: "12",
  etcdVersion: "3.6.16",
  clusterID: "cd",
  memberID: "ef",
  startedAt: "2026-01-01T11:59:55Z",
  completedAt: "2026-01-01T11:59:58Z",
  compression: "None",
  encrypted: false,
};
export const DONE: AgentReport = { ok: true, kind: "backup", object: STORED };
export const FULL = failure("NoSpace", "the bucket is full");

/** A snapshot of EtcdBackup `nightly` in namespace `foo`, of the healthy cluster `my-etcd`; by default its pod runs. */
export function backup(given: Given = {}): BackupSnapshot {
  const stage = given.stage ?? "running";
  const bare: BackupSnapshot = {
    takenAtMs: NOW,
    backup: etcdBackup(given),
    cluster: available(),
    taking: undefined,
    removing: undefined,
    verifying: undefined,
    checking: undefined,
    isNewest: false,
    orphans: [],
    claim: undefined,
    namesake: undefined,
    warnings: [],
    progress: undefined,
    imageRepository: "registry.example/etcd",
    agentImage: IMAGE,
    running: { all: 0, inNamespace: 0, most: 20 },
  };
  const taking = stage === "new" ? undefined : attempt({ ...bare, ...given.with }, stage, given.report);
  return { ...bare, taking, ...given.with };
}

export function etcdBackup(given: Given = {}): EtcdBackup {
  const { status, annotations } = given;
  return {
    apiVersion: apiVersionOf(ETCD_BACKUPS),
    kind: ETCD_BACKUPS.kind,
    metadata: {
      namespace: "foo",
      name: "nightly",
      uid: "0123456789-uid-of-backup",
      resourceVersion: "100",
      generation: 1,
      creationTimestamp: "2026-01-01T11:59:00Z",
      ...(annotations === undefined ? {} : { annotations }),
      ...(given.held === true ? { finalizers: [OBJECT_FINALIZER] } : {}),
      ...(given.deleting === true ? { deletionTimestamp: "2026-01-01T12:00:00Z" } : {}),
    },
    spec: backupSpecSchema.parse({
      source: { cluster: { name: "my-etcd" } },
      destination: { s3: { bucket: "backups", credentials: { secretName: "s3" } } },
      ...given.spec,
    }),
    ...(status === undefined ? {} : { status }),
  };
}

/**
 * The cluster that is backed up.
 * @param status overrides
 */
export function available(status: Partial<EtcdClusterStatus> = {}): EtcdCluster {
  const whole = cluster().cluster;
  const members = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].map((name) => ({
    ...{ name, id: "1", role: "Voter" as const, health: "Healthy" as const },
  }));
  return {
    ...whole,
    status: { ...whole.status, members, conditions: [isAvailable("True", "QuorumAvailable")], ...status },
  };
}

/** The cluster that is backed up, with a pod template. @param spec of the template, as a person would write it */
export function withTemplate(spec: object): EtcdCluster {
  const cluster = available();
  return { ...cluster, spec: { ...cluster.spec, podTemplate: { spec } as EtcdCluster["spec"]["podTemplate"] } };
}

/**
 * The cluster that is backed up, with TLS.
 * @param tls as a person would write it
 */
export function overTls(tls: object = {}): EtcdCluster {
  const cluster = available();
  return { ...cluster, spec: { ...cluster.spec, tls: clusterTlsSchema.parse(tls) } };
}

export function isAvailable(status: "True" | "False" | "Unknown", reason: string) {
  const message = "two of three members answer";
  return { type: "Available", status, reason, message, observedGeneration: 1, lastTransitionTime: MADE_AT };
}

/** The target of a snapshot with a valid spec. */
export function goodTarget(snapshot: BackupSnapshot): Target {
  const target = targetOf(snapshot);
  if (typeof target === "string") throw new Error(target);
  return target;
}

/** The Job that takes the snapshot, with its pod. */
export function attempt(snapshot: BackupSnapshot, stage: BackupStage, report?: AgentReport): Attempted {
  return attempted(backupJob(snapshot, goodTarget(snapshot), IMAGE), stage, report ?? DONE);
}

/** The Job that deletes the object, with its pod. */
export function removal(snapshot: BackupSnapshot, stage: BackupStage, report?: AgentReport): Attempted {
  const done: AgentReport = { ok: true, kind: "delete", deleted: true };
  return attempted(deletionJob(snapshot, goodTarget(snapshot), IMAGE), stage, report ?? done);
}

/** A condition of a backup that was True or False before. */
export function told(type: string, status: "True" | "False" | "Unknown", reason: string, message = "m") {
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: "2026-01-01T11:00:00Z" };
}

/**
 * The newest backup of the schedule `daily`, stored a day ago. Its object is checked each day at 12:34:29, so the check
 * of the day before is due.
 */
export function stored(given: Given = {}): BackupSnapshot {
  const { key: _, startedAt: _s, completedAt: _c, ...object } = STORED;
  const conditions = [
    told("Complete", "True", "Completed"),
    told("Failed", "False", "Completed"),
    told("Ready", "True", "Completed"),
  ];
  const completionTime = "2025-12-31T12:00:00Z";
  const base: EtcdBackupStatus = {
    phase: "Completed",
    jobName: "nightly",
    objectKey: "k",
    object,
    completionTime,
    conditions,
  };
  const status = { ...base, ...given.status };
  const made = backup({ stage: "new", ...given, status, with: { isNewest: true, running: undefined, ...given.with } });
  const labels = { [SCHEDULE_LABEL]: "daily" };
  return { ...made, backup: { ...made.backup, metadata: { ...made.backup.metadata, labels } } };
}

/** The Job that checks whether the object is stored, with its pod. @param report by default the object is stored */
export function check(snapshot: BackupSnapshot, stage: BackupStage, report?: AgentReport): Attempted {
  return attempted(checkJob(snapshot, goodTarget(snapshot), IMAGE), stage, report ?? { ok: true, kind: "check" });
}

/** The report of an agent that has not found the object. */
export const GONE = failure("NoSuchObject", "there is no object k");

/** A completed backup that must be verified. */
export function verified(given: Given = {}): BackupSnapshot {
  const { key: _, startedAt: _s, completedAt: _c, ...object } = STORED;
  const status: EtcdBackupStatus = { phase: "Completed", jobName: "nightly", objectKey: "k", object, ...given.status };
  return backup({ stage: "succeeded", ...given, status, spec: { verification: { mode: "Restore" }, ...given.spec } });
}

/** The report of an agent that has compared the data. */
export const SAME: AgentReport = { ok: true, kind: "verify", revision: "12", keys: 7, hash: 7, message: "7 keys" };

/**
 * The Job that verifies the object, with its pod.
 * @param ends exit code and message of each container
 */
export function verification(
  snapshot: BackupSnapshot,
  stage: BackupStage,
  ends: Readonly<Record<string, readonly [exitCode: number, words: AgentReport | string]>> = { verify: [0, SAME] },
): Attempted {
  const draft = verificationJob(snapshot, goodTarget(snapshot), IMAGE, "registry.example/etcd:v3.6.16");
  const { job, pods } = attempted(draft, stage, DONE);
  const [pod] = pods;
  if (pod === undefined) return { job, pods };
  const { containerStatuses: [agent] = [], ...status } = pod.status ?? {};
  const of = (name: string) => {
    const [exitCode, words] = ends[name] ?? [0, ""];
    const message = typeof words === "string" ? words : reportText(words);
    const terminated = { exitCode, reason: exitCode === 0 ? "Completed" : "Error", message };
    const hasEnded = stage === "succeeded" || stage === "failed";
    return { ...agent, name, state: hasEnded ? { terminated } : agent?.state };
  };
  const made = { ...status, initContainerStatuses: ["fetch", "etcdutl"].map(of), containerStatuses: [of("verify")] };
  return { job, pods: [{ ...pod, status: made } as unknown as Pod] };
}

/** The ended attempt, in a pod with a container that a webhook added and that keeps running. */
export function withProxy({ job, pods: [pod] }: Attempted): Attempted {
  const statuses = [...(pod?.status?.containerStatuses ?? []), { name: "istio-proxy", state: { running: {} } }];
  const lingering = { ...pod, status: { ...pod?.status, phase: "Running", containerStatuses: statuses } } as Pod;
  return joined({ ...job, status: { active: 1 } }, [lingering])!;
}

function attempted(draft: Draft<Job>, stage: BackupStage, done: AgentReport): Attempted {
  const job = born<Job>({ ...draft, metadata: { ...draft.metadata, creationTimestamp: MADE_AT } });
  const ended = { lastTransitionTime: "2026-01-01T11:59:58Z", status: "True", message: "m" };
  switch (stage) {
    case "new":
    case "made":
      return { job, pods: [] };
    case "starting":
      return { job, pods: [agentPod(job, { phase: "Pending" }, { waiting: { reason: "ContainerCreating" } })] };
    case "running":
      return {
        job,
        pods: [agentPod(job, { phase: "Running", podIP: "10.0.0.9" }, { running: { startedAt: MADE_AT } })],
      };
    case "succeeded": {
      const conditions = [{ ...ended, type: "Complete", reason: "CompletionsReached" }];
      return { job: { ...job, status: { conditions } } as Job, pods: [endedPod(job, 0, done)] };
    }
    case "failed": {
      const conditions = [{ ...ended, type: "Failed", reason: "PodFailurePolicy" }];
      const said = done.ok ? FULL : done;
      return { job: { ...job, status: { conditions } } as Job, pods: [endedPod(job, 2, said)] };
    }
  }
}

/**
 * A pod of the Job with an agent that has ended.
 * @param report the agent's report, or another termination message
 */
export function endedPod(job: Job, exitCode: number, report: AgentReport | string): Pod {
  const message = typeof report === "string" ? report : reportText(report);
  const reason = exitCode === 0 ? "Completed" : "Error";
  const terminated = { exitCode, reason, message, finishedAt: "2026-01-01T11:59:57Z" };
  return agentPod(job, { phase: exitCode === 0 ? "Succeeded" : "Failed" }, { terminated });
}

export function agentPod(job: Job, status: object, state: object, metadata: object = {}): Pod {
  const { namespace, name, uid } = job.metadata;
  const owner = { apiVersion: "batch/v1", kind: "Job", name, uid, controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name: `${name}-abcde`,
      uid: `uid-of-pod-of-${name}`,
      resourceVersion: "300",
      creationTimestamp: MADE_AT,
      labels: backupLabels("nightly"),
      ownerReferences: [owner],
      ...metadata,
    },
    spec: { containers: [] },
    status: {
      ...status,
      containerStatuses: [{ name: "agent", state, image: IMAGE, imageID: "", ready: false, restartCount: 0 }],
    },
  } as unknown as Pod;
}

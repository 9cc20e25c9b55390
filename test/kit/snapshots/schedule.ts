import type { BackupReason, Reason } from "#api/conditions.ts";
import {
  DELETE_OBJECT_ANNOTATION,
  SCHEDULE_UID_ANNOTATION,
  scheduledBackupLabels,
  scheduledBackupName,
} from "#api/names.ts";
import type { EtcdBackup, EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import {
  ETCD_BACKUP_SCHEDULES,
  type EtcdBackupSchedule,
  type EtcdBackupScheduleStatus,
} from "#api/v1beta1/schedule.ts";
import { scheduleSpecSchema } from "#api/v1beta1/schedule-schema.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { apiVersionOf } from "#kube/kinds.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";
import { cluster, NOW } from "./cluster.ts";
import { etcdBackup } from "./etcd-backup.ts";

/** When `nightly` was made: ten days ago. */
export const MADE_MS = NOW - 10 * 86_400_000;

interface Given {
  /** Default: nightly. */
  readonly name?: string;
  /** The spec as a person would write it. Default: a backup is due every hour. */
  readonly spec?: object;
  /** Default: due times are counted since the creation, and the latest run was now. */
  readonly status?: EtcdBackupScheduleStatus;
  readonly backups?: readonly EtcdBackup[];
  readonly archive?: EtcdBackup;
  readonly rival?: EtcdBackup;
  readonly namesake?: EtcdBackup;
  readonly lastRun?: EtcdBackup;
  readonly wantedRun?: EtcdBackup;
  readonly left?: readonly EtcdBackup[];
  /** Backups that EtcdRestores read. */
  readonly restoring?: readonly EtcdBackup[];
  readonly cluster?: ScheduleSnapshot["cluster"];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: boolean;
  readonly atMs?: number;
}

export const TEMPLATE = {
  source: { cluster: { name: "my-etcd" } },
  destination: { s3: { bucket: "backups", credentials: { secretName: "s3" } } },
};

/** A snapshot of EtcdBackupSchedule `nightly` in namespace `foo`, at noon, when no run is due. */
export function schedule(given: Given = {}): ScheduleSnapshot {
  const { backups = [], archive, namesake, atMs: takenAtMs = NOW, cluster, lastRun, wantedRun, left = [] } = given;
  const restoring = new Set(given.restoring?.map(({ metadata }) => metadata.name));
  return {
    takenAtMs,
    schedule: etcdBackupSchedule(given),
    cluster,
    backups,
    lastRun,
    wantedRun,
    left,
    restoring,
    archive,
    rival: given.rival,
    archiveNamesake: undefined,
    namesake,
  };
}

export function etcdBackupSchedule(given: Given = {}): EtcdBackupSchedule {
  const { annotations } = given;
  const spec = scheduleSpecSchema.parse({ schedule: "@hourly", backupTemplate: { spec: TEMPLATE }, ...given.spec });
  return {
    apiVersion: apiVersionOf(ETCD_BACKUP_SCHEDULES),
    kind: ETCD_BACKUP_SCHEDULES.kind,
    metadata: {
      namespace: "foo",
      name: given.name ?? "nightly",
      uid: "uid-of-schedule",
      resourceVersion: "50",
      generation: 1,
      creationTimestamp: rfc3339(MADE_MS),
      ...(annotations === undefined ? {} : { annotations }),
      ...(given.deleting === true ? { deletionTimestamp: rfc3339(NOW) } : {}),
    },
    spec,
    status: given.status ?? counted(spec, { lastScheduleTime: rfc3339(NOW), runs: 240 }),
  };
}

/**
 * The EtcdCluster that is backed up.
 * @param spec overrides
 * @param isStopped whether it sleeps, according to its status
 */
export function source(spec: object, isStopped = false): EtcdCluster {
  const { cluster: whole } = cluster();
  const sleep = isStopped ? { sleep: { startTime: rfc3339(NOW) } } : {};
  return { ...whole, spec: { ...whole.spec, ...spec }, status: { ...whole.status, ...sleep } };
}

/** The EtcdCluster with this reason of Ready. */
export function saying(cluster: EtcdCluster, reason: Reason): EtcdCluster {
  const condition = { type: "Ready", status: "False" as const, reason, message: "m" };
  const conditions = [{ ...condition, observedGeneration: 1, lastTransitionTime: rfc3339(NOW) }];
  return { ...cluster, status: { ...cluster.status, conditions } };
}

/**
 * The EtcdBackup that archives changes for `nightly`.
 * @param status its status
 * @param spec overrides
 */
export function archiveOf(status: EtcdBackupStatus = {}, spec: object = {}): EtcdBackup {
  const made = etcdBackup({ spec: { ...TEMPLATE, archive: {}, ...spec }, status });
  const annotations = { [SCHEDULE_UID_ANNOTATION]: "uid-of-schedule" };
  return { ...made, metadata: { ...made.metadata, name: "nightly-changes", annotations } };
}

/** The status of a schedule after its first pass: due times are counted since its creation. */
export function counted(
  { schedule: text = "@hourly", timeZone = "UTC" }: { schedule?: string; timeZone?: string },
  more: EtcdBackupScheduleStatus = {},
): EtcdBackupScheduleStatus {
  return { observedGeneration: 1, counted: { schedule: text, timeZone, since: rfc3339(MADE_MS) }, ...more };
}

interface GivenRun {
  /** Default: completed. active: it has not ended. */
  readonly phase?: "active" | "Completed" | "Failed";
  /** Why it has failed. Default: NoSpace. */
  readonly failed?: BackupReason;
  /** When it ended. Default: at once. */
  readonly endedMs?: number;
  /** etcd's cluster ID; without it the stored object is unknown. */
  readonly etcd?: string;
  readonly deletionPolicy?: "Retain" | "Delete";
  /** Whether the retention has released its object, or deletionPolicy deletes it with the EtcdBackup. */
  readonly given?: boolean;
  readonly held?: boolean;
  readonly deleting?: boolean;
  readonly verified?: boolean;
  /** Verification is pending ("open"), or has failed with this reason. */
  readonly doubted?: "open" | BackupReason;
  /** The latest check has not found its object, for this reason. */
  readonly missing?: BackupReason;
  readonly revision?: string;
  readonly metadata?: object;
}

/** The EtcdBackup of a run that was due and made at this time. */
export function run(atMs: number, given: GivenRun = {}): EtcdBackup {
  const { phase = given.failed === undefined ? "Completed" : "Failed", etcd, deletionPolicy = "Retain" } = given;
  const name = scheduledBackupName("nightly", atMs);
  const made = etcdBackup({
    spec: { deletionPolicy, verification: { mode: given.doubted === undefined ? "None" : "Restore" } },
    held: given.held === true || given.given === true,
  });
  const marked = given.given === true && deletionPolicy === "Retain" ? { [DELETE_OBJECT_ANNOTATION]: "true" } : {};
  const object = etcd === undefined ? {} : { object: { clusterID: etcd, revision: given.revision ?? "12" } as never };
  const time = rfc3339(atMs);
  const condition = (type: string, reason: string, message: string) => ({
    ...{ type, status: "True" as const, reason, message, observedGeneration: 1, lastTransitionTime: time },
  });
  const doubt = (doubted: "open" | BackupReason) =>
    doubted === "open"
      ? { ...condition("Verified", "Verifying", "its Job runs"), status: "Unknown" as const }
      : { ...condition("Verified", doubted, "a key differs"), status: "False" as const };
  const conditions = [
    ...(phase === "Failed" ? [condition("Failed", given.failed ?? "NoSpace", "the bucket is full")] : []),
    ...(given.verified === true ? [condition("Verified", "Verified", "it is whole")] : []),
    ...(given.doubted === undefined ? [] : [doubt(given.doubted)]),
    ...(given.missing === undefined
      ? []
      : [{ ...condition("ObjectFound", given.missing, "there is no object k"), status: "False" as const }]),
  ];
  return {
    ...made,
    metadata: {
      ...made.metadata,
      name,
      uid: `uid-of-${name}`,
      creationTimestamp: time,
      labels: scheduledBackupLabels("nightly"),
      annotations: { [SCHEDULE_UID_ANNOTATION]: "uid-of-schedule", ...marked },
      ...(given.deleting === true ? { deletionTimestamp: time } : {}),
      ...given.metadata,
    },
    status:
      phase === "active"
        ? { phase: "BackingUp" }
        : {
            phase,
            objectURL: `s3://backups/${name}.db`,
            completionTime: rfc3339(given.endedMs ?? atMs),
            ...object,
            conditions,
          },
  };
}

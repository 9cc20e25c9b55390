import { BACKUP_LABEL } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup, type EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import { actOnBackup, type BackupWrites, writeStatus } from "#backup/act.ts";
import { type BackupReads, observeBackup, type Readers } from "#backup/observe.ts";
import { planBackup } from "#backup/plan.ts";
import { ProgressReader } from "#backup/progress.ts";
import { type BackupSnapshot, hasEnded } from "#backup/snapshot.ts";
import { backupStatus, failingStatus } from "#backup/status.ts";
import { type BackupStep, targetTextOf } from "#backup/step.ts";
import { WarningsReader } from "#backup/warnings.ts";
import { isSameData } from "#base/hash.ts";
import { apiVersionOf, controllerOf, type KubeObject } from "#kube/kinds.ts";
import type { Controller, Key, Subject } from "#runtime/controller.ts";

/** What has ended is only ever looked at again when somebody changes it; the rest is a slow second look, in milliseconds. */
const REST_MS = 30 * 60_000;

/** Called once for each backup that ends, when its status says so. */
export type OnEnd = (status: EtcdBackupStatus) => void;

/** Joins what the room of EtcdBackup does: observe, plan, act and status. */
export function backupController(
  kube: BackupWrites,
  reads: BackupReads,
  onEnd: OnEnd = () => undefined,
  readers: Readers = {
    progress: new ProgressReader(reads.clock),
    warnings: new WarningsReader(reads.kube, reads.clock),
  },
): Controller<BackupSnapshot, BackupStep, EtcdBackupStatus> {
  return {
    name: "backup",
    restMs: () => REST_MS,
    observe: (key, signal) => observeBackup(reads, readers, key, signal),
    plan: planBackup,
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnBackup(kube, step, snapshot, signal),
    status: backupStatus,
    writeStatus: async (snapshot, status, signal) => {
      if (isSameData(status, snapshot.backup.status ?? {})) return undefined;
      const written = await writeStatus(kube, snapshot, status, signal);
      if (!hasEnded(snapshot) && hasEnded({ ...snapshot, backup: { ...snapshot.backup, status } })) onEnd(status);
      return written;
    },
    subject: ({ backup }) => subjectOf(backup),
    subjectOf: (key) => {
      const backup = reads.backups.get(key);
      return backup && subjectOf(backup);
    },
    writeFailing: (key, because, signal) => {
      const backup = reads.backups.get(key);
      if (backup === undefined) return Promise.resolve(undefined);
      const status = failingStatus(backup, because, reads.clock.wallMs());
      return isSameData(status, backup.status ?? {})
        ? Promise.resolve(undefined)
        : writeStatus(kube, { backup }, status, signal);
    },
  };
}

function subjectOf({ metadata: { namespace, name, uid } }: EtcdBackup): Subject {
  return { apiVersion: apiVersionOf(ETCD_BACKUPS), kind: ETCD_BACKUPS.kind, namespace, name, uid };
}

/** The backup that a Job or a pod is of: both carry the label, and a Job that lost it has its owner. */
export function backupKeysFor(object: KubeObject): readonly Key[] {
  const owner = controllerOf(object);
  const name = object.metadata.labels?.[BACKUP_LABEL] ?? (owner?.kind === ETCD_BACKUPS.kind ? owner.name : undefined);
  const { namespace } = object.metadata;
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}

/** Backups that wait for their cluster, or are about to ask it. */
export function isOpen({ status }: EtcdBackup): boolean {
  return status?.phase !== "Completed" && status?.phase !== "Failed";
}

import { WarningsReader } from "#agent-job/warnings.ts";
import { BACKUP_LABEL } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import { actOnBackup, type BackupWrites } from "#backup/act.ts";
import { type BackupReads, observeBackup, type Readers } from "#backup/observe.ts";
import { planBackup } from "#backup/plan.ts";
import { ProgressReader } from "#backup/progress.ts";
import { awaitsTurn, type BackupSnapshot, hasEnded } from "#backup/snapshot.ts";
import { backupStatus, failingStatus } from "#backup/status.ts";
import { type BackupStep, targetTextOf } from "#backup/step.ts";
import { Turns } from "#backup/turns.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { type Controller, type Key, keysNamedBy } from "#runtime/controller.ts";
import { statusWriter } from "#runtime/status-writer.ts";

/**
 * Recheck interval, in milliseconds. Events wake the controller; this is only a slow second check. A backup that has
 * ended is observed again only when it changes.
 */
const REST_MS = 30 * 60_000;

/** Called once for each backup that ends, when the status records it. */
export type OnEnd = (status: EtcdBackupStatus) => void;

/** The controller of EtcdBackup: observe, plan, act and status. */
export function backupController(
  kube: BackupWrites,
  reads: BackupReads,
  onEnd: OnEnd = () => undefined,
  readers: Omit<Readers, "turns"> = {
    progress: new ProgressReader(reads.clock),
    warnings: new WarningsReader(reads.kube, reads.clock),
  },
): Controller<BackupSnapshot, BackupStep, EtcdBackupStatus> {
  const turns = new Turns(reads);
  const report = statusWriter({
    kube,
    resource: ETCD_BACKUPS,
    cache: reads.backups,
    clock: reads.clock,
    failing: failingStatus,
    objectOf: ({ backup }: BackupSnapshot) => backup,
  });
  return {
    name: "backup",
    restMs: () => REST_MS,
    isRoutine: (rule) => rule === "check-object" || rule === "clear-check",
    observe: (key, signal) => observeBackup(reads, { ...readers, turns }, key, signal),
    plan: planBackup,
    target: targetTextOf,
    act: async (step, snapshot, signal) => {
      const act = async () => await actOnBackup(kube, step, snapshot, signal);
      const isToTakeTurn = step.do === "createCheckJob" || (step.do === "createJob" && awaitsTurn(snapshot));
      if (!isToTakeTurn) return await act();
      const { namespace } = snapshot.backup.metadata;
      return await turns.take({ namespace, name: step.job.metadata.name }, act);
    },
    status: backupStatus,
    ...report,
    writeStatus: async (snapshot, status, signal) => {
      const written = await report.writeStatus(snapshot, status, signal);
      if (!hasEnded(snapshot) && hasEnded({ ...snapshot, backup: { ...snapshot.backup, status } })) onEnd(status);
      return written;
    },
  };
}

/** The EtcdBackup of a Job or a pod: by label, or by owner when a Job has lost its label. */
export function backupKeysFor(object: KubeObject): readonly Key[] {
  return keysNamedBy(object, BACKUP_LABEL, ETCD_BACKUPS);
}

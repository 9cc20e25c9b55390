import type { BackupConditionType, BackupReason } from "#api/conditions.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";

/** Reasons that prove a defect of the stored object. */
const WRONG_DATA: readonly string[] = [
  "VerificationFailed",
  "SnapshotCorrupt",
  "RestoreToolFailed",
  "NoSuchObject",
] satisfies readonly BackupReason[];

/** Whether the reason proves a defect of the stored object, and not of a node, a store or a key. */
export function provesDefect(reason: string): boolean {
  return WRONG_DATA.includes(reason);
}

/** Condition with the defect that a verification found in the backup's object; `undefined` when none is known. */
export function defectOf({ status }: Pick<EtcdBackup, "status">) {
  return status?.conditions?.find(
    ({ type, status: is, reason }) => type === "Verified" && is === "False" && provesDefect(reason),
  );
}

/** Condition with the result of a daily check that did not find the backup's object; `undefined` when none is known. */
export function missingOf({ status }: Pick<EtcdBackup, "status">) {
  return status?.conditions?.find(
    ({ type, status: is }) => type === ("ObjectFound" satisfies BackupConditionType) && is === "False",
  );
}

/** Whether the object is to be verified. The cache's stub of an EtcdBackup that is too large has no verification. */
export function isToVerify({ spec }: Pick<EtcdBackup, "spec">): boolean {
  return (spec as Partial<EtcdBackup["spec"]>).verification?.mode === "Restore";
}

import type { BackupReason } from "#api/conditions.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";

/**
 * Reasons that prove a defect of the stored object. All other reasons come from a node, a store or a key, and prove
 * nothing about the object.
 */
const WRONG_DATA: readonly string[] = [
  "VerificationFailed",
  "SnapshotCorrupt",
  "RestoreToolFailed",
  "NoSuchObject",
] satisfies readonly BackupReason[];

/** Condition with the defect that a verification found in the backup's object; `undefined` when none is known. */
export function defectOf({ status }: Pick<EtcdBackup, "status">) {
  return status?.conditions?.find(
    ({ type, status: is, reason }) => type === "Verified" && is === "False" && WRONG_DATA.includes(reason),
  );
}

/** Whether the object is to be verified. The cache's stub of an EtcdBackup that is too large has no verification. */
export function isToVerify({ spec }: Pick<EtcdBackup, "spec">): boolean {
  return (spec as Partial<EtcdBackup["spec"]>).verification?.mode === "Restore";
}

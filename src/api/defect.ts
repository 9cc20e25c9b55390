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

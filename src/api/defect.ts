import type { BackupReason } from "#api/conditions.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";

/** What a verification says of the object itself; all other reasons are those of a node, a store or a key, and leave open how it is. */
const WRONG_DATA: readonly string[] = [
  "VerificationFailed",
  "SnapshotCorrupt",
  "RestoreToolFailed",
  "NoSuchObject",
] satisfies readonly BackupReason[];

/** What its verification found wrong with its object; `undefined` while nothing is known to be wrong. */
export function defectOf({ status }: Pick<EtcdBackup, "status">) {
  return status?.conditions?.find(
    ({ type, status: is, reason }) => type === "Verified" && is === "False" && WRONG_DATA.includes(reason),
  );
}

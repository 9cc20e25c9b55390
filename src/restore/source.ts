import type { RestoreReason } from "#api/conditions.ts";
import { BACKUP_DESTINATION_LABEL } from "#api/names.ts";
import { isOlderMinor, isRelease } from "#etcd/version.ts";
import { objectOf } from "#restore/object.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/** Why the restore does not get on by now. */
export interface Lack {
  readonly reason: RestoreReason;
  readonly message: string;
  /** Whether it would be the same for ever. */
  readonly isFinal?: true;
}

/** What is missing of the EtcdBackup and of the claim that are named; `undefined` when the object can be read. */
export function lackOfSource(snapshot: RestoreSnapshot): Lack | undefined {
  return lackOfBackup(snapshot) ?? lackOfRelease(snapshot) ?? lackOfClaim(snapshot);
}

function lackOfBackup({ restore, backup }: RestoreSnapshot): Lack | undefined {
  const { backupName } = restore.spec.source;
  if (backupName === undefined) return undefined;
  if (backup === undefined)
    return { reason: "BackupNotFound", message: `there is no EtcdBackup ${backupName} in this namespace` };
  switch (backup.status?.phase) {
    case "Completed":
      return undefined;
    case "Failed": {
      const why =
        backup.status.conditions?.find(({ type }) => type === "Failed")?.message ?? "its status does not say why";
      return { reason: "BackupFailed", message: `EtcdBackup ${backupName} has failed: ${why}`, isFinal: true };
    }
    default:
      return { reason: "BackupNotCompleted", message: `EtcdBackup ${backupName} is still under way` };
  }
}

/** A member does not start with the data of a later minor release. Of an object that no EtcdBackup names, etcd itself says so. */
function lackOfRelease({ restore, backup }: RestoreSnapshot): Lack | undefined {
  const from = backup?.status?.object?.etcdVersion;
  const { version } = restore.spec.clusterTemplate.spec;
  if (from === undefined || !isRelease(from) || !isOlderMinor(version, from)) return undefined;
  const message = `spec.clusterTemplate.spec.version is ${version}, and the snapshot is of etcd ${from}; it must be that minor release or a later one`;
  return { reason: "SpecRefused", message, isFinal: true };
}

/** A pod that mounts a claim may change what is on it: so its owner says by a label that backups lie there. */
function lackOfClaim(snapshot: RestoreSnapshot): Lack | undefined {
  const object = objectOf(snapshot);
  if (typeof object === "string" || object.target.claimName === undefined) return undefined;
  const { claimName } = object.target;
  const { sourceClaim } = snapshot;
  if (sourceClaim === undefined)
    return {
      reason: "ClaimNotAllowed",
      message: `the object is on claim ${claimName}, which is not in this namespace`,
    };
  if (sourceClaim.metadata.labels?.[BACKUP_DESTINATION_LABEL] === "true") return undefined;
  const how = `kubectl label persistentvolumeclaim ${claimName} ${BACKUP_DESTINATION_LABEL}=true`;
  const message = `the object is on claim ${claimName}, which does not say that backups are stored on it: ${how}`;
  return { reason: "ClaimNotAllowed", message };
}

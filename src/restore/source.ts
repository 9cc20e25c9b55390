import type { RestoreReason } from "#api/conditions.ts";
import { defectOf } from "#api/defect.ts";
import { BACKUP_DESTINATION_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { isReportDue } from "#backup/job-state.ts";
import type { Attempted } from "#backup/snapshot.ts";
import { isOlderMinor, isRelease } from "#etcd/version.ts";
import { objectOf } from "#restore/object.ts";
import { broughtBy, filledWith, fillingOf, isFilled } from "#restore/pods.ts";
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
  return lackOfBackup(snapshot) ?? lackOfClaim(snapshot);
}

function lackOfBackup({ restore, backup }: RestoreSnapshot): Lack | undefined {
  const { backupName } = restore.spec.source;
  if (backupName === undefined) return undefined;
  if (backup === undefined)
    return { reason: "BackupNotFound", message: `there is no EtcdBackup ${backupName} in this namespace` };
  if (backup.metadata.deletionTimestamp !== undefined)
    return {
      reason: "BackupNotFound",
      message: `EtcdBackup ${backupName} is being deleted, and its object may go with it`,
    };
  if (backup.spec.archive !== undefined) return lackOfArchive(backupName);
  switch (backup.status?.phase) {
    case "Completed":
      return lackOfData(backup);
    case "Failed": {
      const why =
        backup.status.conditions?.find(({ type }) => type === "Failed")?.message ?? "its status does not say why";
      return { reason: "BackupFailed", message: `EtcdBackup ${backupName} has failed: ${why}`, isFinal: true };
    }
    default:
      return { reason: "BackupNotCompleted", message: `EtcdBackup ${backupName} is still under way` };
  }
}

/** An archive is never done, and has no snapshot: its changes are read with that of a backup. */
function lackOfArchive(backupName: string): Lack {
  const message = `spec.source.backupName is ${backupName}, which archives changes and holds no snapshot; it must be an EtcdBackup of the same cluster and place that is Completed, and spec.until says up to where the changes are wanted`;
  return { reason: "SpecRefused", message, isFinal: true };
}

/** Data that is known to be wrong is brought back only by who says where it lies, and so has heard of it. */
function lackOfData(backup: EtcdBackup): Lack | undefined {
  const defect = defectOf(backup);
  if (defect === undefined) return undefined;
  const { name } = backup.metadata;
  const found = `its verification found the data of EtcdBackup ${name} wrong: ${defect.reason}: ${defect.message}`;
  const message = `${found}; who wants it all the same names its object in spec.source.object (${backup.status?.objectURL})`;
  return { reason: "BackupFailed", message, isFinal: true };
}

/** What of the snapshot that was brought keeps a cluster from starting with it; `undefined` when nothing does. */
export function lackOfSnapshot(snapshot: RestoreSnapshot): Lack | undefined {
  return lackOfRelease(snapshot) ?? lackOfSameness(snapshot);
}

/** A member does not start with the data of a later minor release. Of an object that no EtcdBackup names, the agents that bring it tell. */
function lackOfRelease(snapshot: RestoreSnapshot): Lack | undefined {
  const { restore, backup } = snapshot;
  const brought = broughtTo(snapshot).map(({ etcdVersion }) => etcdVersion);
  const releases = [backup?.status?.object?.etcdVersion, ...brought, restore.status?.snapshot?.etcdVersion];
  const { version } = restore.spec.clusterTemplate.spec;
  const from = releases.find((each) => each !== undefined && isRelease(each) && isOlderMinor(version, each));
  if (from === undefined) return undefined;
  const message = `spec.clusterTemplate.spec.version is ${version}, and the snapshot is of etcd ${from}; it must be that minor release or a later one`;
  return { reason: "SpecRefused", message, isFinal: true };
}

/**
 * Each claim fetches for itself, and members begin with the same data or never agree: somebody may have stored another object in between. With what a claim
 * was filled its pod says, or else the EtcdBackup by which the agent was told what to accept.
 */
function lackOfSameness(snapshot: RestoreSnapshot): Lack | undefined {
  const filled = snapshot.members.flatMap((member) => {
    const filling = isFilled(snapshot, member) ? fillingOf(snapshot, member) : undefined;
    return filling === undefined
      ? []
      : [{ name: member.name, filling, sha256: filledWith(filling) ?? acceptedBy(snapshot, filling) }];
  });
  const [first, ...others] = filled.filter(({ sha256 }) => sha256 !== undefined);
  const other = others.find(({ sha256 }) => sha256 !== first?.sha256);
  if (first !== undefined && other !== undefined) {
    const message = `the object has changed while it was read: the SHA-256 is ${first.sha256} for ${first.name}, and ${other.sha256} for ${other.name}`;
    return { reason: "SnapshotCorrupt", message, isFinal: true };
  }
  const silent = filled.find(({ sha256, filling }) => sha256 === undefined && !isReportDue(snapshot, filling));
  if (silent === undefined || snapshot.members.length === 1) return undefined;
  const message = `the pod that has filled claim ${silent.name} is gone, and its report with it: nobody knows whether the object was the same as for the others; restore again, best from an EtcdBackup whose status says the SHA-256`;
  return { reason: "AgentFailed", message, isFinal: true };
}

/** What alone the agent has taken for the snapshot, when its Job was made for this very EtcdBackup. */
function acceptedBy({ backup }: RestoreSnapshot, { job }: Attempted): string | undefined {
  if (backup === undefined) return undefined;
  const isOfIt = Date.parse(job.metadata.creationTimestamp ?? "") > Date.parse(backup.metadata.creationTimestamp ?? "");
  return isOfIt ? backup.status?.object?.sha256 : undefined;
}

function broughtTo(snapshot: RestoreSnapshot) {
  return snapshot.members.flatMap((member) => {
    const filling = fillingOf(snapshot, member);
    const of = filling && broughtBy(filling);
    return of ?? [];
  });
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

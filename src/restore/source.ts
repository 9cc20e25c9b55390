import type { Attempted } from "#agent-job/job-state.ts";
import { isReportDue } from "#agent-job/job-state.ts";
import type { RestoreReason } from "#api/conditions.ts";
import { defectOf } from "#api/defect.ts";
import { BACKUP_DESTINATION_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { isOlderMinor, isRelease } from "#etcd/version.ts";
import { DEFAULT_QUOTA, quotaBytes } from "#peer/desired/etcd-options.ts";
import { objectOf } from "#restore/object.ts";
import { broughtBy, filledWith, fillingOf, isFilled } from "#restore/pods.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/** Why the restore makes no progress. */
export interface Lack {
  readonly reason: RestoreReason;
  readonly message: string;
  /** Whether waiting cannot help. */
  readonly isFinal?: true;
}

/** Problem with the named EtcdBackup or claim; `undefined` when the object can be read. */
export function lackOfSource(snapshot: RestoreSnapshot): Lack | undefined {
  return lackOfBackup(snapshot) ?? lackOfClaim(snapshot);
}

function lackOfBackup({ restore, backup }: RestoreSnapshot): Lack | undefined {
  const { backupName } = restore.spec.source;
  if (backupName === undefined) return undefined;
  if (backup === undefined)
    return { reason: "BackupNotFound", message: `this namespace has no EtcdBackup ${backupName}` };
  if (backup.metadata.deletionTimestamp !== undefined)
    return {
      reason: "BackupNotFound",
      message: `EtcdBackup ${backupName} is being deleted, and its object may be deleted with it`,
    };
  if (backup.spec.archive !== undefined) return lackOfArchive(backupName);
  switch (backup.status?.phase) {
    case "Completed":
      return lackOfData(backup);
    case "Failed": {
      const why =
        backup.status.conditions?.find(({ type }) => type === "Failed")?.message ?? "its status has no reason";
      return { reason: "BackupFailed", message: `EtcdBackup ${backupName} has failed: ${why}`, isFinal: true };
    }
    default:
      return { reason: "BackupNotCompleted", message: `EtcdBackup ${backupName} is still running` };
  }
}

/** An archive never completes and has no snapshot: its changes are replayed onto the snapshot of a backup. */
function lackOfArchive(backupName: string): Lack {
  const message = `spec.source.backupName is ${backupName}, which archives changes and has no snapshot; name a Completed EtcdBackup of the same cluster and destination. Then set spec.until to the end of the changes`;
  return { reason: "SpecRefused", message, isFinal: true };
}

/**
 * Refuses data that failed its verification. To restore it nevertheless, a user must name the object's URL in the spec.
 */
function lackOfData(backup: EtcdBackup): Lack | undefined {
  const defect = defectOf(backup);
  if (defect === undefined) return undefined;
  const { name } = backup.metadata;
  const found = `the verification of EtcdBackup ${name} found its data wrong: ${defect.reason}: ${defect.message}`;
  const message = `${found}; to restore it nevertheless, name its object in spec.source.object (${backup.status?.objectURL})`;
  return { reason: "BackupFailed", message, isFinal: true };
}

/** Why a cluster cannot start with the fetched snapshot; `undefined` when it can. */
export function lackOfSnapshot(snapshot: RestoreSnapshot): Lack | undefined {
  return lackOfRelease(snapshot) ?? lackOfQuota(snapshot) ?? lackOfSameness(snapshot);
}

/**
 * Refuses a snapshot of a later minor release: members do not start with it. For an object without an EtcdBackup the
 * agents report the release.
 */
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
 * Refuses a snapshot as large as the quota of the members: etcd would raise NOSPACE at the first write. The size of an
 * EtcdBackup is known before anything is created; that of another object once an agent has fetched it.
 */
function lackOfQuota(snapshot: RestoreSnapshot): Lack | undefined {
  const { restore, backup, members } = snapshot;
  const { spec } = restore.spec.clusterTemplate;
  const brought = broughtTo(snapshot).map(({ bytes }) => bytes);
  const sizes = [backup?.status?.object?.bytes, ...brought, restore.status?.snapshot?.bytes];
  const bytes = sizes.find((each) => each !== undefined);
  const quotas = members.map(
    ({ claim }) => quotaBytes(spec, claim?.status?.capacity?.storage?.toString()) ?? DEFAULT_QUOTA,
  );
  const quota = quotas.find((each) => bytes !== undefined && bytes >= each);
  if (quota === undefined) return undefined;
  const { mode, size } = spec.etcd?.backendQuota ?? {};
  const field = "spec.clusterTemplate.spec.etcd.backendQuota";
  const is = mode === undefined ? `${field} is not set` : `${field} is ${mode}${size === undefined ? "" : ` ${size}`}`;
  const message = `${is}: the database may have ${quota} bytes, and the snapshot has ${bytes}, so etcd would refuse every write. Set ${field} to mode Fixed with a larger size, and storage.size to at least twice that`;
  return { reason: "SpecRefused", message, isFinal: true };
}

/**
 * Refuses claims filled from different objects: each Job fetches by itself, and the object may have been replaced in
 * between. The SHA-256 is from the pod's report, or else from the EtcdBackup that the Job was created for.
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
  const message = `the pod that filled claim ${silent.name} is gone without a report, so it may have read another object than the others; restore again. Prefer an EtcdBackup with a SHA-256 in its status`;
  return { reason: "AgentFailed", message, isFinal: true };
}

/** The only SHA-256 that the agent accepts, when its Job was created for this EtcdBackup. */
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

/**
 * Refuses a claim without the label by which its owner allows backups on it: a pod that mounts a claim may change its
 * data.
 */
function lackOfClaim(snapshot: RestoreSnapshot): Lack | undefined {
  const object = objectOf(snapshot);
  if (typeof object === "string" || object.target.claimName === undefined) return undefined;
  const { claimName } = object.target;
  const { sourceClaim } = snapshot;
  if (sourceClaim === undefined)
    return {
      reason: "ClaimNotAllowed",
      message: `the object is on claim ${claimName}, which this namespace does not have`,
    };
  if (sourceClaim.metadata.labels?.[BACKUP_DESTINATION_LABEL] === "true") return undefined;
  const how = `kubectl label persistentvolumeclaim ${claimName} ${BACKUP_DESTINATION_LABEL}=true`;
  const message = `the object is on claim ${claimName}, which is not labelled as a backup destination; if it is one, run: ${how}`;
  return { reason: "ClaimNotAllowed", message };
}

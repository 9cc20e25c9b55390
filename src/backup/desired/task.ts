import type { ArchiveTask, BackupTask, CheckTask, DeleteTask, EtcdSource } from "#agent/task.ts";
import type { Target } from "#agent-job/target.ts";
import { KEY_FILE, MOUNTS, mountedCredentials } from "#agent-job/volumes.ts";
import { spanMsOf } from "#api/duration.ts";
import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { endpointsOf, sourceSecret } from "#backup/source.ts";

/** The agent's task; it contains no secret. */
export function backupTask(snapshot: BackupSnapshot, target: Target): BackupTask {
  const { backup, cluster } = snapshot;
  const { namespace, name } = backup.metadata;
  const { source, compression, encryption } = backup.spec;
  return {
    kind: "backup",
    ...placeOf(snapshot, target),
    source: sourceOf(snapshot),
    compression,
    ...(encryption === undefined ? {} : { encryption: { keyFile: `${MOUNTS.encryption}/${KEY_FILE}` } }),
    about: {
      namespace,
      backupName: name,
      ...(source.cluster === undefined ? {} : { clusterName: source.cluster.name }),
      ...(cluster === undefined ? {} : { clusterUID: cluster.metadata.uid }),
    },
  };
}

/** Maximum bytes of changes in one object, before compression. */
export const ARCHIVE_BYTES = 8 * 1024 ** 2;

/** The schema's default of `spec.archive.maxAge`, in seconds. */
const DEFAULT_MAX_AGE = 10;

/** Task of an archive. With an invalid `keepFor` no changes are deleted. */
export function archiveTask(
  snapshot: BackupSnapshot,
  { location, key, credentials }: Target,
  { maxAge, keepFor }: NonNullable<EtcdBackupSpec["archive"]>,
): ArchiveTask {
  const { encryption } = snapshot.backup.spec;
  const keepForSeconds = secondsOf(keepFor);
  return {
    kind: "archive",
    source: sourceOf(snapshot),
    destination: location,
    prefix: key,
    ...mountedCredentials(credentials),
    ...(encryption === undefined ? {} : { encryption: { keyFile: `${MOUNTS.encryption}/${KEY_FILE}` } }),
    maxBytes: ARCHIVE_BYTES,
    maxAgeSeconds: secondsOf(maxAge) ?? DEFAULT_MAX_AGE,
    ...(keepForSeconds === undefined ? {} : { keepForSeconds }),
  };
}

/** @returns undefined for an invalid text, which a conversion may have stored */
function secondsOf(span: string): number | undefined {
  const ms = spanMsOf(span);
  return ms === undefined ? undefined : ms / 1_000;
}

export function deleteTask(snapshot: BackupSnapshot, target: Target): DeleteTask {
  return { kind: "delete", ...placeOf(snapshot, target) };
}

/** The task of the daily check. It expects the sha256 when the status has one. */
export function checkTask({ backup }: BackupSnapshot, { location, key, credentials }: Target): CheckTask {
  const sha256 = backup.status?.object?.sha256;
  return {
    kind: "check",
    from: location,
    key,
    ...mountedCredentials(credentials),
    expect: { backupUID: backup.metadata.uid, ...(sha256 === undefined ? {} : { sha256 }) },
  };
}

function placeOf({ backup }: BackupSnapshot, { location, key, credentials }: Target) {
  return {
    backupUID: backup.metadata.uid,
    destination: location,
    key,
    ...mountedCredentials(credentials),
  };
}

function sourceOf(snapshot: BackupSnapshot): EtcdSource {
  const { cluster, external } = snapshot.backup.spec.source;
  const clusterID = snapshot.cluster?.status?.identity?.clusterID;
  return {
    endpoints: endpointsOf(snapshot),
    ...(cluster === undefined || clusterID === undefined ? {} : { clusterID }),
    ...(sourceSecret(snapshot) === undefined ? {} : { tlsDir: MOUNTS.sourceTLS }),
    ...(external?.tls?.serverName === undefined ? {} : { serverName: external.tls.serverName }),
    ...(external?.auth === undefined ? {} : { authDir: MOUNTS.sourceAuth }),
  };
}

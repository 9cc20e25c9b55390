import { CHANGES_FOLDER } from "#agent/task.ts";
import { keyOfTask } from "#agent-job/job-state.ts";
import { type Target, targetAt, type URLDestination, urlTarget } from "#agent-job/target.ts";
import { ownerFolder } from "#api/backup-folder.ts";
import { renderObjectURL, whyNotObjectURLTemplate } from "#api/object-url.ts";
import { type BackupSnapshot, isOwned } from "#backup/snapshot.ts";

/** @returns the location, or a sentence when the spec is wrong: the field, its value and what it may be */
export function targetOf(snapshot: BackupSnapshot): Target | string {
  return targetAt(snapshot.backup.spec.destination, {
    keyFor: (prefix) => keyOf(snapshot, prefix),
    atURL: (url) => templateTarget(snapshot, url),
  });
}

function templateTarget(snapshot: BackupSnapshot, { template, credentials }: URLDestination): Target | string {
  const field = "spec.destination.url.template";
  const { metadata, status = {} } = snapshot.backup;
  // A recorded URL stays valid, even if the template would give another URL now.
  const noted = status.objectKey === undefined ? undefined : status.objectURL;
  const why = noted === undefined ? whyNotObjectURLTemplate(template) : undefined;
  if (why !== undefined) return `${field} ${why}`;
  return urlTarget(noted ?? renderObjectURL(template, metadata), credentials, field, notedKey(snapshot));
}

/**
 * The key of the object, chosen once: it is derived from the cluster until the Job is created, and then recorded. Two
 * backups never share a key, nor do two clusters of the same name.
 */
function keyOf(snapshot: BackupSnapshot, prefix: string | undefined): string {
  return notedKey(snapshot) ?? newKey(snapshot, prefix);
}

/** The recorded key: in the status, and before that is written in the task of the Job's agent. */
function notedKey(snapshot: BackupSnapshot): string | undefined {
  const { backup, taking } = snapshot;
  const isMade = taking !== undefined && isOwned(snapshot, taking.job);
  return backup.status?.objectKey ?? (isMade ? keyOfTask(taking.job) : undefined);
}

function newKey({ backup, cluster }: BackupSnapshot, prefix: string | undefined): string {
  const { namespace, name, uid, creationTimestamp = "" } = backup.metadata;
  const { source, compression, encryption } = backup.spec;
  const folder = [...(prefix === undefined ? [] : [prefix]), namespace, ...ownerFolder(source, cluster?.metadata.uid)];
  if (backup.spec.archive !== undefined) return [...folder, CHANGES_FOLDER].join("/");
  const file = `${creationTimestamp.replaceAll(/[-:]/g, "")}-${name}-${uid.slice(0, 8)}`;
  const extension = `.db${compression === "Zstd" ? ".zst" : ""}${encryption === undefined ? "" : ".enc"}`;
  return [...folder, file + extension].join("/");
}

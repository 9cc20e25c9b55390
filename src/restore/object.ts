import type { ExpectedSnapshot } from "#agent/task.ts";
import { type Target, targetAt, urlTarget } from "#agent-job/target.ts";
import type { EtcdBackup, EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import type { StoredSnapshot } from "#api/v1beta1/restore.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/** The object to read, with its credentials and key. */
export interface SourceObject {
  readonly target: Target;
  /** Key with which the object is encrypted; undefined for an unencrypted object. */
  readonly keySecretRef?: { readonly name: string; readonly key: string };
  readonly expect?: ExpectedSnapshot;
}

/** @returns the object, or a sentence when the spec is wrong: the field, its value and what it may be */
export function objectOf(snapshot: RestoreSnapshot): SourceObject | string {
  const { source } = snapshot.restore.spec;
  if ((source.backupName === undefined) === (source.object === undefined))
    return "spec.source must have exactly one of backupName and object";
  if (source.object !== undefined) return ofObject(source.object);
  const { backup } = snapshot;
  return backup === undefined
    ? `spec.source.backupName is ${source.backupName}, and this namespace has no such EtcdBackup`
    : ofBackup(backup, source.encryption);
}

/** @param encryption another key than that of the EtcdBackup */
function ofBackup(
  { metadata, spec, status }: EtcdBackup,
  encryption: EtcdBackupSpec["encryption"] = spec.encryption,
): SourceObject | string {
  const { objectKey = "", objectURL = "" } = status ?? {};
  const target = targetAt(spec.destination, {
    keyFor: () => objectKey,
    atURL: ({ credentials }) => urlTarget(objectURL, credentials, "status.objectURL", objectKey),
  });
  if (typeof target === "string") return `EtcdBackup ${metadata.name}: ${target}`;
  const sha256 = status?.object?.sha256;
  const expect = { backupUID: metadata.uid, ...(sha256 === undefined ? {} : { sha256 }) };
  return { target, expect, ...keyOf(encryption) };
}

function ofObject({ url, encryption, ...stores }: StoredSnapshot): SourceObject | string {
  // Stores are specified as in a destination, except that the key is complete here.
  const target =
    url === undefined
      ? targetAt(stores, { keyFor: () => keyIn(stores), atURL: () => "" })
      : urlTarget(url.url, url.credentials, "spec.source.object.url.url");
  if (typeof target !== "string") return { target, ...keyOf(encryption) };
  return target.replace("spec.destination", "spec.source.object");
}

function keyIn({ s3, gcs, azure, volume }: Omit<StoredSnapshot, "url" | "encryption">): string {
  return (s3 ?? gcs ?? azure ?? volume)?.key ?? "";
}

function keyOf(encryption: EtcdBackupSpec["encryption"]): Pick<SourceObject, "keySecretRef"> {
  return encryption === undefined ? {} : { keySecretRef: encryption.keySecretRef };
}

/** For users: the EtcdBackup's name, or the URL of the object. */
export function sourceText(snapshot: RestoreSnapshot): string {
  const { backupName } = snapshot.restore.spec.source;
  if (backupName !== undefined) return backupName;
  const object = objectOf(snapshot);
  return typeof object === "string" ? "" : object.target.url;
}

/** Secrets that the pods mount and cannot start without. */
export function secretNamesOf(snapshot: RestoreSnapshot): readonly string[] {
  const object = objectOf(snapshot);
  if (typeof object === "string") return [];
  const { credentials } = object.target;
  const names = [credentials?.isOptional === true ? undefined : credentials?.secretName, object.keySecretRef?.name];
  return [...new Set(names.filter((name) => name !== undefined))];
}

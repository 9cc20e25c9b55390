import { CHANGES_FOLDER } from "#agent/task.ts";
import { ownerFolder } from "#api/backup-folder.ts";
import { DEFAULT_CREDENTIALS_SECRET } from "#api/names.ts";
import { renderObjectURL, whyNotObjectURLTemplate } from "#api/object-url.ts";
import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import { keyOfTask } from "#backup/job-state.ts";
import { type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import { objectURL, parseObjectURL, type StoreLocation } from "#objectstore/location.ts";

/** Where the volume of a destination is mounted. */
export const VOLUME_MOUNT = "/volume";

/** A Secret with what a store is asked. */
export interface Credentials {
  readonly secretName: string;
  /** Whether the pod may do without. */
  readonly isOptional: boolean;
}

/** Where the object of a backup is, or is to be. */
export interface Target {
  readonly location: StoreLocation;
  readonly key: string;
  /** For people. */
  readonly url: string;
  readonly credentials?: Credentials;
  /** The claim that the location is on. */
  readonly claimName?: string;
}

/** @returns a sentence when the spec does not say it: the field, what it is and what it may be */
export function targetOf(snapshot: BackupSnapshot): Target | string {
  return targetAt(snapshot.backup.spec.destination, {
    keyFor: (prefix) => keyOf(snapshot, prefix),
    atURL: (url) => templateTarget(snapshot, url),
  });
}

interface Places {
  /** The key, below what it begins with. */
  readonly keyFor: (prefix: string | undefined) => string;
  readonly atURL: (url: URLDestination) => Target | string;
}

/** The same of any destination. */
export function targetAt(
  { s3, gcs, azure, volume, url }: EtcdBackupSpec["destination"],
  { keyFor, atURL }: Places,
): Target | string {
  if (s3 !== undefined) {
    const { bucket, endpoint, region, pathStyle } = s3;
    return remote({ store: "s3", bucket, pathStyle, ...given({ endpoint, region }) }, keyFor(s3.prefix), s3);
  }
  if (gcs !== undefined) {
    const { bucket, endpoint } = gcs;
    return remote({ store: "gcs", bucket, ...given({ endpoint }) }, keyFor(gcs.prefix), gcs);
  }
  if (azure !== undefined) {
    const { account, container, endpoint } = azure;
    return remote({ store: "azure", account, container, ...given({ endpoint }) }, keyFor(azure.prefix), azure);
  }
  if (volume !== undefined) {
    // The path is a part of the key: directories of keys are made when they are missing.
    const { claimName, path } = volume;
    const key = keyFor(path);
    return { location: { store: "volume", path: VOLUME_MOUNT }, key, url: `volume://${claimName}/${key}`, claimName };
  }
  if (url !== undefined) return atURL(url);
  return "spec.destination is empty; it must have exactly one of s3, gcs, azure, volume and url";
}

type Remote = Exclude<StoreLocation, { readonly store: "volume" }>;
type Secret = { readonly secretName: string } | undefined;

function remote(location: Remote, key: string, { credentials }: { credentials?: Secret }): Target {
  const secret = credentials === undefined ? {} : { credentials: { ...credentials, isOptional: false } };
  return { location, key, url: objectURL(location, key), ...secret };
}

type URLDestination = NonNullable<EtcdBackupSpec["destination"]["url"]>;

function templateTarget(snapshot: BackupSnapshot, { template, credentials }: URLDestination): Target | string {
  const field = "spec.destination.url.template";
  const { metadata, status = {} } = snapshot.backup;
  // What is on record holds, also for an operator that would make another URL of the template.
  const noted = status.objectKey === undefined ? undefined : status.objectURL;
  const why = noted === undefined ? whyNotObjectURLTemplate(template) : undefined;
  if (why !== undefined) return `${field} ${why}`;
  return urlTarget(noted ?? renderObjectURL(template, metadata), credentials, field, notedKey(snapshot));
}

/** The object of a URL. @param field for people, where the URL is none @param noted the key, when it is on record */
export function urlTarget(text: string, secret: Secret, field: string, noted?: string): Target | string {
  try {
    const { location, ...parsed } = parseObjectURL(text);
    const key = noted ?? parsed.key;
    const { secretName } = secret ?? { secretName: DEFAULT_CREDENTIALS_SECRET };
    const credentials = { secretName, isOptional: secret === undefined };
    return { location, key, url: objectURL(location, key), credentials };
  } catch (thrown) {
    return `${field}: ${thrown instanceof Error ? thrown.message : "it is no URL of an object"}`;
  }
}

/**
 * The key is decided once: until the Job is made by what is known of the cluster, from then on it is on record. Two backups never have the
 * same one, nor has another cluster of the same name.
 */
function keyOf(snapshot: BackupSnapshot, prefix: string | undefined): string {
  return notedKey(snapshot) ?? newKey(snapshot, prefix);
}

/** On record in the status, and until that is written in what the Job's agent was told. */
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

/** The parts that are there. */
function given<T extends Record<string, string | undefined>>(parts: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: string;
  };
}

import { isEmpty } from "#api/meaning.ts";
import { DEFAULT_CREDENTIALS_SECRET } from "#api/names.ts";
import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import { objectURL, parseObjectURL, type S3Storage, type StoreLocation } from "#objectstore/location.ts";

// The store, and the key, of the object of a backup or restore.

/** Mount path of a destination volume. */
export const VOLUME_MOUNT = "/volume";

/** Secret with a store's credentials. */
export interface Credentials {
  readonly secretName: string;
  /** Whether the pod may start without it. */
  readonly isOptional: boolean;
}

/** Location of a backup's object. */
export interface Target {
  readonly location: StoreLocation;
  readonly key: string;
  /** For users. */
  readonly url: string;
  readonly credentials?: Credentials;
  /** The claim of the location. */
  readonly claimName?: string;
}

interface Places {
  /** The key below the prefix. */
  readonly keyFor: (prefix: string | undefined) => string;
  readonly atURL: (url: URLDestination) => Target | string;
}

/** Location in any destination. @returns a sentence when the destination is invalid */
export function targetAt(
  { s3, gcs, azure, volume, url }: EtcdBackupSpec["destination"],
  { keyFor, atURL }: Places,
): Target | string {
  if (s3 !== undefined) {
    const { bucket, endpoint, region, pathStyle } = s3;
    const location = { store: "s3", bucket, pathStyle, ...given({ endpoint, region }), ...storageOf(s3) } as const;
    return remote(location, keyFor(s3.prefix), s3);
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
    // The path is part of the key: missing directories of keys are created.
    const { claimName, path } = volume;
    const key = keyFor(path);
    return { location: { store: "volume", path: VOLUME_MOUNT }, key, url: `volume://${claimName}/${key}`, claimName };
  }
  if (url !== undefined) return atURL(url);
  return "spec.destination is empty; it must have exactly one of s3, gcs, azure, volume and url";
}

/** How the objects are stored. Only the given fields, and nothing if there is none. */
function storageOf(s3: NonNullable<EtcdBackupSpec["destination"]["s3"]>): { readonly storage?: S3Storage } {
  const { serverSideEncryption, kmsKeyID, storageClass, tags } = s3;
  const storage: S3Storage = {
    ...(serverSideEncryption === undefined ? {} : { serverSideEncryption }),
    ...(kmsKeyID === undefined ? {} : { kmsKeyID }),
    ...(storageClass === undefined ? {} : { storageClass }),
    ...(tags === undefined || isEmpty(tags) ? {} : { tags }),
  };
  return Object.keys(storage).length === 0 ? {} : { storage };
}

type Remote = Exclude<StoreLocation, { readonly store: "volume" }>;

type Secret = { readonly secretName: string } | undefined;

function remote(location: Remote, key: string, { credentials }: { credentials?: Secret }): Target {
  const secret = credentials === undefined ? {} : { credentials: { ...credentials, isOptional: false } };
  return { location, key, url: objectURL(location, key), ...secret };
}

export type URLDestination = NonNullable<EtcdBackupSpec["destination"]["url"]>;

/**
 * The object of a URL. @param field names the URL in an error message @param noted the recorded key, if there is one
 */
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

/** Copies only the defined parts. */
function given<T extends Record<string, string | undefined>>(parts: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: string;
  };
}

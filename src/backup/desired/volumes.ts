import { KEY_FILE, MOUNTS } from "#backup/desired/task.ts";
import { SOURCE_TLS_VOLUME } from "#backup/reach.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { sourceSecret } from "#backup/source.ts";
import { type Credentials, type Target, VOLUME_MOUNT } from "#backup/target.ts";
import type { Pod } from "#kube/kinds.ts";
import type { StoreLocation } from "#objectstore/location.ts";

// Which parts of which Secrets get into the pod?
//   Of each only the keys that are meant for this use, by their names. Who names a Secret that is meant for something else gets nothing out
//   of it, and a pod never sees more of a Secret than it needs.
// What if one is missing? The kubelet waits, and starts the pod as soon as it is there.

type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];
type Mount = NonNullable<NonNullable<Pod["spec"]>["containers"][number]["volumeMounts"]>[number];

export interface Mounted {
  readonly volume: Volume;
  readonly mount: Mount;
}

/** Readable for the agent's group, and for nobody else. */
const MODE = 0o440;

/** By store: keys of the Secret with credentials that it must have, and that it may have. A volume is asked with none. */
export const CREDENTIAL_KEYS: Readonly<
  Record<StoreLocation["store"], { must: readonly string[]; may: readonly string[] }>
> = {
  s3: { must: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], may: ["AWS_SESSION_TOKEN", "ca.crt"] },
  gcs: { must: ["credentials.json"], may: ["ca.crt"] },
  azure: { must: [], may: ["AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "ca.crt"] },
  volume: { must: [], may: [] },
};
export const TLS_KEYS: readonly string[] = ["ca.crt", "tls.crt", "tls.key"];
/** Not `username` and `password`, which every Secret for somebody's login has: an EtcdBackup could send them to a server of its choice. */
export const AUTH_KEYS: readonly string[] = ["ETCD_USERNAME", "ETCD_PASSWORD"];

/** What every one of the backup's pods mounts: the destination and with what it is asked. */
export function destinationVolumes({ location, credentials, claimName }: Target): readonly Mounted[] {
  return [
    ...(credentials === undefined ? [] : [credentialVolume(credentials, location.store)]),
    ...(claimName === undefined ? [] : [claimVolume(claimName)]),
  ];
}

/** What the pod that takes the snapshot mounts beside. */
export function sourceVolumes(snapshot: BackupSnapshot): readonly Mounted[] {
  const { source, encryption } = snapshot.backup.spec;
  const { auth } = source;
  const tls = sourceSecret(snapshot);
  return [
    ...encryptionVolumes(encryption?.keySecret),
    ...(tls === undefined
      ? []
      : [secretVolume(SOURCE_TLS_VOLUME, MOUNTS.sourceTLS, [part(tls.name, TLS_KEYS, tls.isOptional)])]),
    ...(auth === undefined ? [] : [secretVolume("source-auth", MOUNTS.sourceAuth, [part(auth.secretName, AUTH_KEYS)])]),
  ];
}

/** The key of an encryption, if there is one. */
export function encryptionVolumes(
  key: { readonly name: string; readonly key: string } | undefined,
): readonly Mounted[] {
  if (key === undefined) return [];
  const items = [{ key: key.key, path: KEY_FILE, mode: MODE }];
  return [secretVolume("encryption", MOUNTS.encryption, [{ name: key.name, items }])];
}

function credentialVolume({ secretName, isOptional }: Credentials, store: StoreLocation["store"]): Mounted {
  const { must, may } = CREDENTIAL_KEYS[store];
  const needed = must.length === 0 ? [] : [part(secretName, must, isOptional)];
  const parts = [...needed, part(secretName, may, true)];
  return secretVolume("credentials", MOUNTS.credentials, parts);
}

function claimVolume(claimName: string): Mounted {
  return {
    volume: { name: "destination", persistentVolumeClaim: { claimName } },
    mount: { name: "destination", mountPath: VOLUME_MOUNT },
  };
}

interface SecretPart {
  readonly name: string;
  readonly items: readonly { key: string; path: string; mode: number }[];
  readonly optional?: boolean;
}

/** @param isOptional neither the Secret nor any of the keys has to be there */
function part(name: string, keys: readonly string[], isOptional = false): SecretPart {
  const items = keys.map((key) => ({ key, path: key, mode: MODE }));
  return { name, items, ...(isOptional ? { optional: true } : {}) };
}

function secretVolume(name: string, mountPath: string, parts: readonly SecretPart[]): Mounted {
  const sources = parts.map(({ items, ...rest }) => ({ secret: { ...rest, items: [...items] } }));
  return {
    volume: { name, projected: { defaultMode: MODE, sources } },
    mount: { name, mountPath, readOnly: true },
  };
}

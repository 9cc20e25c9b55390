import type { MountedCredentials } from "#agent/task.ts";
import type { JobPodTemplate } from "#agent-job/pod-template.ts";
import { type Credentials, type Target, VOLUME_MOUNT } from "#agent-job/target.ts";
import { GROUP } from "#api/names.ts";
import type { Pod } from "#kube/kinds.ts";
import type { StoreLocation } from "#objectstore/location.ts";

// Which keys of a Secret does the pod get?
//   Only the keys with the expected names. So an EtcdBackup cannot read a Secret that is meant for another use, and a
//   pod sees no more of a Secret than it needs.
// What if one is missing?
//   The kubelet waits, and starts the pod as soon as the Secret exists.

type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];
type Mount = NonNullable<NonNullable<Pod["spec"]>["containers"][number]["volumeMounts"]>[number];

export interface Mounted {
  readonly volume: Volume;
  readonly mount: Mount;
}

/** Mount paths of Secrets in the pod; the agent gets secrets only as files. */
export const MOUNTS = {
  credentials: "/run/agent/credentials",
  encryption: "/run/agent/encryption",
  sourceTLS: "/run/agent/source-tls",
  sourceAuth: "/run/agent/source-auth",
  /** Google's library reads it as `credential_source.file`, which must be below /var/run/secrets. */
  identity: `/var/run/secrets/${GROUP}`,
} as const;

/** Volume with a token of the pod's service account, for Google's workload identity federation. */
export const IDENTITY_VOLUME = "identity";
/** Audience of the identity token. API servers have other audiences, so they reject the token. */
export const IDENTITY_AUDIENCE = GROUP;

/** File with the key below its mount path. */
export const KEY_FILE = "key";

/** Readable for the agent's group only. */
const MODE = 0o440;

/** Required and optional keys of the credentials Secret, by store. A volume needs none. */
export const CREDENTIAL_KEYS: Readonly<
  Record<StoreLocation["store"], { must: readonly string[]; may: readonly string[] }>
> = {
  s3: { must: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], may: ["AWS_SESSION_TOKEN", "ca.crt"] },
  gcs: { must: ["credentials.json"], may: ["ca.crt"] },
  azure: { must: [], may: ["AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "ca.crt"] },
  volume: { must: [], may: [] },
};
export const TLS_KEYS: readonly string[] = ["ca.crt", "tls.crt", "tls.key"];
/**
 * Not `username` and `password`, as many other Secrets have: an EtcdBackup could send them to a server of its choice.
 */
export const AUTH_KEYS: readonly string[] = ["ETCD_USERNAME", "ETCD_PASSWORD"];

/** Name of the volume with the destination claim. */
export const DESTINATION_VOLUME = "destination";

/**
 * Volumes of every pod that reads or writes the object: the destination, its credentials and the pod's identity.
 * @param template names the service account, if the pod has an identity
 */
export function destinationVolumes(target: Target, template: JobPodTemplate): readonly Mounted[] {
  const { location, credentials, claimName } = target;
  const hasIdentity = template?.spec?.serviceAccountName !== undefined;
  return [
    ...(credentials === undefined ? [] : [credentialVolume(credentials, location.store, hasIdentity)]),
    ...(hasIdentity && location.store === "gcs" ? [identityVolume()] : []),
    ...(claimName === undefined ? [] : [claimVolume(claimName)]),
  ];
}

/** Volumes for a container that only reads them. */
export function readOnly(volumes: readonly Mounted[]): readonly Mounted[] {
  return volumes.map(({ volume, mount }) => ({ volume, mount: { ...mount, readOnly: true } }));
}

/** Fields of a task about the store's Secret. */
export function mountedCredentials(credentials: Credentials | undefined): MountedCredentials {
  if (credentials === undefined) return {};
  return { credentialsDir: MOUNTS.credentials, ...(credentials.isOptional ? {} : { needsCredentials: true }) };
}

/** Labels of a pod with its service account's identity. Azure's webhook adds the token only to pods with this label. */
export function identityLabels({ location, credentials }: Target, template: JobPodTemplate): Record<string, string> {
  const hasKeys = credentials?.isOptional === false && template?.spec?.serviceAccountName === undefined;
  return location.store === "azure" && !hasKeys ? { "azure.workload.identity/use": "true" } : {};
}

function identityVolume(): Mounted {
  const serviceAccountToken = { audience: IDENTITY_AUDIENCE, expirationSeconds: 3_600, path: "token" };
  return {
    volume: { name: IDENTITY_VOLUME, projected: { defaultMode: MODE, sources: [{ serviceAccountToken }] } },
    mount: { name: IDENTITY_VOLUME, mountPath: MOUNTS.identity, readOnly: true },
  };
}

/** Volume with the encryption key, if there is one. */
export function encryptionVolumes(
  key: { readonly name: string; readonly key: string } | undefined,
): readonly Mounted[] {
  if (key === undefined) return [];
  const items = [{ key: key.key, path: KEY_FILE, mode: MODE }];
  return [secretVolume("encryption", MOUNTS.encryption, [{ name: key.name, items }])];
}

/** @param hasIdentity whether keys may be missing: then the Secret may have only the store's CA */
function credentialVolume(
  { secretName, isOptional }: Credentials,
  store: StoreLocation["store"],
  hasIdentity: boolean,
): Mounted {
  const { must, may } = CREDENTIAL_KEYS[store];
  const parts = [part(secretName, must, isOptional || hasIdentity), part(secretName, may, true)];
  // Without keys the kubelet would mount the whole Secret.
  const named = parts.filter(({ items }) => items.length > 0);
  return secretVolume("credentials", MOUNTS.credentials, named);
}

function claimVolume(claimName: string): Mounted {
  return {
    volume: { name: DESTINATION_VOLUME, persistentVolumeClaim: { claimName } },
    mount: { name: DESTINATION_VOLUME, mountPath: VOLUME_MOUNT },
  };
}

interface SecretPart {
  readonly name: string;
  readonly items: readonly { key: string; path: string; mode: number }[];
  readonly optional?: boolean;
}

/** @param isOptional whether the Secret and its keys may be missing */
export function part(name: string, keys: readonly string[], isOptional = false): SecretPart {
  const items = keys.map((key) => ({ key, path: key, mode: MODE }));
  return { name, items, ...(isOptional ? { optional: true } : {}) };
}

export function secretVolume(name: string, mountPath: string, parts: readonly SecretPart[]): Mounted {
  const sources = parts.map(({ items, ...rest }) => ({ secret: { ...rest, items: [...items] } }));
  return {
    volume: { name, projected: { defaultMode: MODE, sources } },
    mount: { name, mountPath, readOnly: true },
  };
}

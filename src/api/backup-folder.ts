import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";

// Where are backups and changes of an etcd stored?
//   Below the prefix of the destination, in a folder per namespace and etcd. Backups and archived changes share the
//   folder, so that a restore finds the changes after a backup.

/**
 * Parts of the key that identify the etcd. For an EtcdCluster its name and uid, so that a recreated cluster gets a new
 * folder. For any other etcd its host.
 * @param clusterUid uid of the EtcdCluster; undefined while it does not exist
 */
export function ownerFolder({ cluster, external }: EtcdBackupSpec["source"], clusterUid?: string): string[] {
  return cluster === undefined
    ? ["external", hostOf(external?.endpoints[0] ?? "")]
    : [cluster.name, clusterUid ?? "unknown"];
}

function hostOf(endpoint: string): string {
  const host = endpoint.replace(/^https?:\/\//, "").replace(/:\d+\/?$/, "");
  return host.replaceAll(/[^A-Za-z0-9.-]/g, "_") || "unknown";
}

/** Folder of a key, without a trailing slash. */
export function folderOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

/**
 * Key that is equal for EtcdBackups of one namespace with the same etcd and the same destination. Credentials do not
 * count.
 */
export function placeText({ source, destination }: Pick<EtcdBackupSpec, "source" | "destination">): string {
  const { s3, gcs, azure, volume } = destination;
  return JSON.stringify([
    source.cluster?.name ?? source.external?.endpoints[0],
    s3 && ["s3", s3.endpoint, s3.bucket, s3.prefix],
    gcs && ["gcs", gcs.endpoint, gcs.bucket, gcs.prefix],
    azure && ["azure", azure.endpoint, azure.account, azure.container, azure.prefix],
    volume && ["volume", volume.claimName, volume.path],
  ]);
}

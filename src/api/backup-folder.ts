import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";

// Where does what is stored of an etcd lie?
//   Below the prefix of its destination, in a folder of its namespace and of whose it is. Backups and changes of one etcd share it: that is how a
//   restore of a backup finds the changes that came after.

/**
 * Whose it is, as parts of a key: of an EtcdCluster its name and uid, so that another one of the name has another folder; of any other etcd its host.
 * @param clusterUid of the EtcdCluster; undefined while it is not there
 */
export function ownerFolder({ clusterName, endpoints }: EtcdBackupSpec["source"], clusterUid?: string): string[] {
  return clusterName === undefined
    ? ["external", hostOf(endpoints?.[0] ?? "")]
    : [clusterName, clusterUid ?? "unknown"];
}

function hostOf(endpoint: string): string {
  const host = endpoint.replace(/^https?:\/\//, "").replace(/:\d+\/?$/, "");
  return host.replaceAll(/[^A-Za-z0-9.-]/g, "_") || "unknown";
}

/** The folder of a key, without a slash behind it. */
export function folderOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

/** What two EtcdBackups of one namespace have in common that store what one etcd has in one folder, whatever they show to be let in. */
export function placeText({ source, destination }: Pick<EtcdBackupSpec, "source" | "destination">): string {
  const { s3, gcs, azure, volume } = destination;
  return JSON.stringify([
    source.clusterName ?? source.endpoints?.[0],
    s3 && ["s3", s3.endpoint, s3.bucket, s3.prefix],
    gcs && ["gcs", gcs.endpoint, gcs.bucket, gcs.prefix],
    azure && ["azure", azure.endpoint, azure.account, azure.container, azure.prefix],
    volume && ["volume", volume.claimName, volume.path],
  ]);
}

import { FIRST_BACKUP_ANNOTATION, firstBackupName } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { waiversIn } from "#api/waivers.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isRelease, minorOf } from "#etcd/version.ts";

// Why is a backup made before members go to a newer minor release?
//   Its data may not be read by the one before any more, and the way back is etcd's own, which takes its time. Whoever has said by a schedule
//   where backups go wants one of the moment before.
// Which backup counts?
//   Its name holds the release and the generation of the spec, so that an upgrade that is tried again months later gets one of its own. It
//   belongs to this very cluster, by uid, and stays when everything else goes.

/** The check that people may waive; see api/waivers.ts. */
const CHECK = "backup-first";

/** The name of the backup before the members of this cluster go to the release of its spec. */
export function nameOfFirstBackup({ metadata, spec }: EtcdCluster): string {
  const minor = isRelease(spec.version) ? minorOf(spec.version) : "none"; // then nobody goes there
  return firstBackupName(metadata.name, minor, metadata.generation ?? 0);
}

/** The schedule that says how; `undefined` when no backup is asked for: there is none, or each is suspended, or a person has waived it. */
export function scheduleOfFirstBackup({
  cluster,
  schedules,
  takenAtMs,
}: ClusterSnapshot): EtcdBackupSchedule | undefined {
  const isWaived = waiversIn(cluster, takenAtMs).waivers.some(
    ({ check, untilMs }) => check === CHECK && untilMs > takenAtMs,
  );
  return isWaived ? undefined : schedules.find(({ spec }) => !spec.suspend);
}

/** Whether the backup was made for this very cluster. */
export function isOfCluster({ metadata }: EtcdBackup, cluster: EtcdCluster): boolean {
  return metadata.annotations?.[FIRST_BACKUP_ANNOTATION] === cluster.metadata.uid;
}

/** Why nobody goes to a newer minor release yet, as a clause: the backup before is not stored. `undefined` when nobody has to wait for one. */
export function whyNotBackedUp(snapshot: ClusterSnapshot): string | undefined {
  const { cluster, firstBackup } = snapshot;
  if (scheduleOfFirstBackup(snapshot) === undefined) return undefined;
  const name = nameOfFirstBackup(cluster);
  const isStored =
    firstBackup !== undefined && isOfCluster(firstBackup, cluster) && firstBackup.status?.phase === "Completed";
  return isStored ? undefined : `EtcdBackup ${name}, of the moment before, is not stored`;
}

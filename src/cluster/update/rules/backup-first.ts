import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { ownVoters } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { firstBackup as draftOf } from "#cluster/update/desired/first-backup.ts";
import { activeFirstBackup, firstBackupsOf, hasFailed, nextSchedule } from "#cluster/update/first-backup.ts";
import { lacksFirstBackup } from "#cluster/update/version-path.ts";
import { unwaivedBlocker } from "#cluster/update/waivers.ts";
import { stoppedUpdate } from "#cluster/update/wanted-template.ts";
import { step, type Waiting, wait } from "#runtime/decide.ts";

/** A fallback for lost events, in milliseconds: the end of the backup requeues the cluster at once. */
const RECHECK_MS = 10_000;
/**
 * How long the backup may take before a warning, in milliseconds: a guess, since large databases take long. Smaller:
 * warnings that need no action. Larger: a stuck upgrade stays unnoticed.
 */
const LONG_MS = 30 * 60_000;

/**
 * Before the first member gets a newer minor release, a backup is made if an EtcdBackupSchedule exists. The update
 * waits until it is stored.
 */
export const backupFirst: ClusterRule = {
  name: "backup-first",
  decide(snapshot) {
    if (!lacksFirstBackup(snapshot)) return undefined;
    const { version } = snapshot.cluster.spec;
    const active = activeFirstBackup(snapshot);
    if (active !== undefined) {
      const isLate = snapshot.takenAtMs - Date.parse(active.metadata.creationTimestamp ?? "") >= LONG_MS;
      const because = `the update to ${version} waits until EtcdBackup ${active.metadata.name} is stored`;
      return wait(because, RECHECK_MS, { warn: isLate });
    }
    const latest = firstBackupsOf(snapshot).at(-1);
    const schedule = nextSchedule(snapshot);
    if (schedule === undefined) return failed(snapshot, latest);
    if (latest !== undefined && !hasFailed(latest)) {
      // The stored backup is too old. A new one is made only when a member can be updated, not repeatedly while none
      // can.
      if (stoppedUpdate(snapshot) !== undefined) return undefined;
      const unfit = ownVoters(snapshot).find((member) => unwaivedBlocker(snapshot, member) !== undefined);
      if (unfit !== undefined) {
        const because = `EtcdBackup ${latest.metadata.name} is too old; a new one is made once ${unfit.name} ${unwaivedBlocker(snapshot, unfit)}`;
        return wait(because, RECHECK_MS);
      }
    }
    const backup = draftOf(snapshot, schedule);
    const because = `EtcdBackup ${backup.metadata.name} is made before the update to ${version}, from the template of EtcdBackupSchedule ${schedule.metadata.name}`;
    return step(because, { do: "createBackup", backup });
  },
};

function failed({ cluster }: ClusterSnapshot, latest: EtcdBackup | undefined): Waiting {
  const why = latest?.status?.conditions?.find(
    ({ type, status }) => (type === "Failed" && status === "True") || (type === "Verified" && status === "False"),
  );
  const because = `EtcdBackup ${latest?.metadata.name} has failed: ${why?.message}; delete it to make a new one, or waive BackupFirst; the update to ${cluster.spec.version} waits`;
  return wait(because, RECHECK_MS, { warn: true });
}

import { firstBackup as draftOf } from "#cluster/desired/first-backup.ts";
import { isOfCluster, nameOfFirstBackup, scheduleOfFirstBackup } from "#cluster/first-backup.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { lacksFirstBackup } from "#cluster/version-path.ts";
import { step, wait } from "#runtime/decide.ts";

/** Its end wakes the cluster; this is for events that never come, in milliseconds. */
const RECHECK_MS = 10_000;
/**
 * How long the backup may take before a person hears of the wait, in milliseconds. Half an hour is a guess: large databases take a while. Too
 * small, and an event tells what nobody has to do anything about; too large, and an upgrade stands still unnoticed.
 */
const LONG_MS = 30 * 60_000;

/** Before the first member goes to a newer minor release a backup is made, where a schedule says how; its members wait until it is stored. */
export const backupFirst: ClusterRule = {
  name: "backup-first",
  decide(snapshot) {
    const { cluster, firstBackup, takenAtMs } = snapshot;
    const schedule = scheduleOfFirstBackup(snapshot);
    if (schedule === undefined || !lacksFirstBackup(snapshot)) return undefined;
    const name = nameOfFirstBackup(cluster);
    const { version } = cluster.spec;
    if (firstBackup === undefined) {
      const because = `EtcdBackup ${name} is made before members go to ${version}, as EtcdBackupSchedule ${schedule.metadata.name} has it`;
      return step("backup-first", because, { do: "createBackup", backup: draftOf(snapshot, schedule) });
    }
    const after = `members go to ${version} when`;
    if (!isOfCluster(firstBackup, cluster))
      return wait(
        "backup-first",
        `EtcdBackup ${name} exists, and is not of this cluster; ${after} it is gone`,
        RECHECK_MS,
        {
          warn: true,
        },
      );
    const { phase, conditions = [] } = firstBackup.status ?? {};
    if (phase === "Failed") {
      const why = conditions.find(({ type }) => type === "Failed")?.message;
      const because = `EtcdBackup ${name} has failed: ${why}; when it is deleted, another one is made; ${after} one is stored, or backup-first is waived`;
      return wait("backup-first", because, RECHECK_MS, { warn: true });
    }
    const isLate = takenAtMs - Date.parse(firstBackup.metadata.creationTimestamp ?? "") >= LONG_MS;
    return wait("backup-first", `${after} EtcdBackup ${name} is stored`, RECHECK_MS, { warn: isLate });
  },
};

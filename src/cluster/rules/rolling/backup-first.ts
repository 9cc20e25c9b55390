import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { firstBackup as draftOf } from "#cluster/desired/first-backup.ts";
import { activeFirstBackup, firstBackupsOf, hasFailed, nextSchedule } from "#cluster/first-backup.ts";
import { ownVoters } from "#cluster/members.ts";
import { stoppedUpdate } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { lacksFirstBackup } from "#cluster/version-path.ts";
import { whyAwaited } from "#cluster/waivers.ts";
import { step, type Wait, wait } from "#runtime/decide.ts";

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
    if (!lacksFirstBackup(snapshot)) return undefined;
    const { version } = snapshot.cluster.spec;
    const active = activeFirstBackup(snapshot);
    if (active !== undefined) {
      const isLate = snapshot.takenAtMs - Date.parse(active.metadata.creationTimestamp ?? "") >= LONG_MS;
      const because = `members go to ${version} when EtcdBackup ${active.metadata.name} is stored`;
      return wait("backup-first", because, RECHECK_MS, { warn: isLate });
    }
    const latest = firstBackupsOf(snapshot).at(-1);
    const schedule = nextSchedule(snapshot);
    if (schedule === undefined) return failed(snapshot, latest);
    if (latest !== undefined && !hasFailed(latest)) {
      // It is too old by now. Another one is made when somebody can go, not again and again while nobody can.
      if (stoppedUpdate(snapshot) !== undefined) return undefined;
      const unfit = ownVoters(snapshot).find((member) => whyAwaited(snapshot, member) !== undefined);
      if (unfit !== undefined) {
        const because = `EtcdBackup ${latest.metadata.name} is too old by now; another one is made once ${unfit.name} ${whyAwaited(snapshot, unfit)}`;
        return wait("backup-first", because, RECHECK_MS);
      }
    }
    const backup = draftOf(snapshot, schedule);
    const because = `EtcdBackup ${backup.metadata.name} is made before members go to ${version}, as EtcdBackupSchedule ${schedule.metadata.name} has it`;
    return step("backup-first", because, { do: "createBackup", backup });
  },
};

function failed({ cluster }: ClusterSnapshot, latest: EtcdBackup | undefined): Wait {
  const why = latest?.status?.conditions?.find(
    ({ type, status }) => (type === "Failed" && status === "True") || (type === "Verified" && status === "False"),
  );
  const because = `EtcdBackup ${latest?.metadata.name} has failed: ${why?.message}; when it is deleted, another one is made; members go to ${cluster.spec.version} when one is stored, or backup-first is waived`;
  return wait("backup-first", because, RECHECK_MS, { warn: true });
}

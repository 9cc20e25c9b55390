import { missingOf } from "#api/defect.ts";
import { SCHEDULE_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { CacheView } from "#runtime/controller.ts";

/** Index of backups by the label of their schedule: `namespace/name` of the EtcdBackupSchedule. */
export const SIBLING_INDEX = "sibling";

/**
 * How many backups of a schedule are checked. With one, the loss of the newest would leave open whether any other is
 * left. With more, there are more Jobs each day, for backups that are less likely to be restored.
 */
const CHECKED = 2;
/**
 * How many are checked at most while the objects of newer ones are gone. If smaller, the loss of the last good one is not
 * noticed. If larger, a bucket that was emptied causes more Jobs each day.
 */
const MOST_CHECKED = 5;

/**
 * Whether the backup is Completed and one of the newest of its schedule. Newer ones with a missing object do not take
 * its place, up to a limit.
 */
export function isNewest(backups: Pick<CacheView<EtcdBackup>, "byIndex">, backup: EtcdBackup): boolean {
  const { namespace, labels } = backup.metadata;
  const schedule = labels?.[SCHEDULE_LABEL];
  if (schedule === undefined || !isStored(backup)) return false;
  let [newer, found] = [0, 0];
  for (const other of backups.byIndex(SIBLING_INDEX, `${namespace}/${schedule}`)) {
    if (!isStored(other) || !isNewer(other, backup)) continue;
    newer += 1;
    if (missingOf(other) === undefined) found += 1;
    if (found === CHECKED || newer === MOST_CHECKED) return false; // A schedule may have thousands of backups.
  }
  return true;
}

function isStored({ metadata, status }: EtcdBackup): boolean {
  return status?.phase === "Completed" && metadata.deletionTimestamp === undefined;
}

function isNewer(a: EtcdBackup, b: EtcdBackup): boolean {
  return orderOf(a) > orderOf(b);
}

/** Sort key: the time of creation, then the name, which contains the due time. */
function orderOf({ metadata }: EtcdBackup): string {
  return `${metadata.creationTimestamp} ${metadata.name}`;
}

import { step } from "#runtime/decide.ts";
import { disposalsIn, isObjectGoing } from "#schedule/disposal.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/**
 * Deletes an EtcdBackup that is not kept: by retention with its object, by a history limit according to deletionPolicy.
 */
export const deleteBackup: ScheduleRule = {
  name: "delete-backup",
  decide(snapshot) {
    const all = disposalsIn(snapshot);
    const next = all.find((each) => !each.isWithObject || isObjectGoing(each.backup));
    if (next === undefined) return undefined;
    const { backup, keepers, because } = next;
    const text = `EtcdBackup ${backup.metadata.name} is deleted: ${because}`;
    return step("delete-backup", text, { do: "deleteBackup", backup, keepers });
  },
};

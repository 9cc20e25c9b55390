import { step } from "#runtime/decide.ts";
import { disposalsIn, isMarked, isObjectGoing } from "#schedule/disposal.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/**
 * Marks an EtcdBackup when the retention deletes its object, regardless of deletionPolicy. The EtcdBackup is deleted
 * afterwards.
 */
export const releaseObject: ScheduleRule = {
  name: "release-object",
  decide(snapshot) {
    const all = disposalsIn(snapshot);
    // While a marked EtcdBackup cannot be deleted, marking another is useless.
    if (all.some(({ backup }) => isMarked(backup))) return undefined;
    const next = all.find(({ backup, isWithObject }) => isWithObject && !isObjectGoing(backup));
    if (next === undefined) return undefined;
    const { backup, keepers, because } = next;
    const text = `the object of EtcdBackup ${backup.metadata.name} will be deleted with it: ${because}`;
    return step("release-object", text, { do: "giveObject", backup, keepers });
  },
};

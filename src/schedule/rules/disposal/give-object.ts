import { step } from "#runtime/decide.ts";
import { disposalsIn, isMarked, isObjectGoing } from "#schedule/disposal.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** The retention gives the object of a backup away: that is written on the EtcdBackup, whatever its objectPolicy says, before it is deleted. */
export const giveObject: ScheduleRule = {
  name: "give-object",
  decide(snapshot) {
    const all = disposalsIn(snapshot);
    // While the EtcdBackup of one that was given away cannot be deleted, there is no use in another.
    if (all.some(({ backup }) => isMarked(backup))) return undefined;
    const next = all.find(({ backup, isWithObject }) => isWithObject && !isObjectGoing(backup));
    if (next === undefined) return undefined;
    const { backup, keepers, because } = next;
    const text = `the object of EtcdBackup ${backup.metadata.name} is to go with it: ${because}`;
    return step("give-object", text, { do: "giveObject", backup, keepers });
  },
};

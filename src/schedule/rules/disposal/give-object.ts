import { step } from "#runtime/decide.ts";
import { disposalsIn, isObjectGoing } from "#schedule/disposal.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** The retention gives the object of a backup away: that is written on the EtcdBackup, whatever its objectPolicy says, before it is deleted. */
export const giveObject: ScheduleRule = {
  name: "give-object",
  decide(snapshot) {
    const all = disposalsIn(snapshot);
    const next = all.find(({ backup, isWithObject }) => isWithObject && !isObjectGoing(backup));
    if (next === undefined) return undefined;
    const { backup, keeper, because } = next;
    const text = `the object of EtcdBackup ${backup.metadata.name} is to go with it: ${because}`;
    return step("give-object", text, { do: "giveObject", backup, keeper });
  },
};

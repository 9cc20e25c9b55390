import { DELETE_OBJECT_ANNOTATION } from "#api/names.ts";
import { step } from "#runtime/decide.ts";
import { disposalsIn } from "#schedule/disposal.ts";
import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** An object that was to go, and that the spec keeps by now, stays: that it goes with its EtcdBackup is taken back. */
export const keepObject: ScheduleRule = {
  name: "keep-object",
  decide(snapshot) {
    const going = new Set(disposalsIn(snapshot).flatMap(({ backup, isWithObject }) => (isWithObject ? [backup] : [])));
    const backup = snapshot.backups.find(
      (each) =>
        each.metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true" && !isDeleting(each) && !going.has(each),
    );
    if (backup === undefined) return undefined;
    const because = `the object of EtcdBackup ${backup.metadata.name} stays after all`;
    return step("keep-object", because, { do: "keepObject", backup });
  },
};

import { DELETE_OBJECT_ANNOTATION } from "#api/names.ts";
import { step } from "#runtime/decide.ts";
import { disposalsIn } from "#schedule/disposal.ts";
import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/** Removes the mark from an EtcdBackup when the present spec keeps its object. */
export const keepObject: ScheduleRule = {
  name: "keep-object",
  decide(snapshot) {
    const going = new Set(disposalsIn(snapshot).flatMap(({ backup, isWithObject }) => (isWithObject ? [backup] : [])));
    const backup = snapshot.backups.find(
      (each) =>
        each.metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true" && !isDeleting(each) && !going.has(each),
    );
    if (backup === undefined) return undefined;
    const because = `the object of EtcdBackup ${backup.metadata.name} is kept after all`;
    return step("keep-object", because, { do: "keepObject", backup });
  },
};

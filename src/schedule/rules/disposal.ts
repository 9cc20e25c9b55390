import { DELETE_OBJECT_ANNOTATION } from "#api/names.ts";
import { step } from "#runtime/decide.ts";
import { disposalsIn, isMarked, isObjectGoing } from "#schedule/disposal.ts";
import { isDeleting } from "#schedule/snapshot.ts";
import type { ScheduleRule } from "#schedule/step.ts";

/**
 * Removes the mark that a deleted schedule left on an EtcdBackup: the object stays, even if a new schedule has the
 * name.
 */
export const keepOrphaned: ScheduleRule = {
  name: "keep-orphaned",
  decide({ left: [backup] }) {
    if (backup === undefined) return undefined;
    const because = `the schedule that marked the object of EtcdBackup ${backup.metadata.name} for deletion is gone; the object stays`;
    return step(because, { do: "keepObject", backup });
  },
};

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
    return step(because, { do: "keepObject", backup });
  },
};

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
    return step(text, { do: "deleteBackup", backup, keepers });
  },
};

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
    return step(text, { do: "giveObject", backup, keepers });
  },
};

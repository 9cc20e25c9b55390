import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { Draft } from "#kube/kinds.ts";
import type { Guard, Rule } from "#runtime/decide.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";

/** Steps of this controller: one write each. */
export type ScheduleStep =
  | { readonly do: "createBackup"; readonly backup: Draft<EtcdBackup> }
  /** @see keepers in disposal.ts: they are read again right before */
  | { readonly do: "deleteBackup"; readonly backup: EtcdBackup; readonly keepers: readonly EtcdBackup[] }
  /** Marks the EtcdBackup: its object will be deleted with it. */
  | { readonly do: "giveObject"; readonly backup: EtcdBackup; readonly keepers: readonly EtcdBackup[] }
  /** Removes that mark. */
  | { readonly do: "keepObject"; readonly backup: EtcdBackup };

export type ScheduleRule = Rule<ScheduleSnapshot, ScheduleStep>;
export type ScheduleGuard = Guard<ScheduleSnapshot, ScheduleStep>;

/** Text that identifies the target of a step: two steps with the same text are two attempts of one step. */
export function targetTextOf(step: ScheduleStep): string {
  switch (step.do) {
    case "createBackup":
      return step.backup.metadata.name;
    case "deleteBackup":
    case "giveObject":
    case "keepObject":
      return step.backup.metadata.uid;
  }
}

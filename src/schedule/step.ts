import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { Draft } from "#kube/kinds.ts";
import type { Guard, Rule } from "#runtime/decide.ts";
import type { ScheduleSnapshot } from "#schedule/snapshot.ts";

/** Everything that this room can do to the world: one write each. */
export type ScheduleStep =
  | { readonly do: "createBackup"; readonly backup: Draft<EtcdBackup> }
  /** @see keepers in disposal.ts: they are looked at once more, right before */
  | { readonly do: "deleteBackup"; readonly backup: EtcdBackup; readonly keepers: readonly EtcdBackup[] }
  /** Says on the EtcdBackup that its object goes with it. */
  | { readonly do: "giveObject"; readonly backup: EtcdBackup; readonly keepers: readonly EtcdBackup[] }
  /** Takes that back. */
  | { readonly do: "keepObject"; readonly backup: EtcdBackup };

export type ScheduleRule = Rule<ScheduleSnapshot, ScheduleStep>;
export type ScheduleGuard = Guard<ScheduleSnapshot, ScheduleStep>;

/** What the step would change and into what: two steps with the same words are two tries of one. */
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

import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Draft, Job } from "#kube/kinds.ts";
import type { Guard, Rule } from "#runtime/decide.ts";

/** Everything that this room can do to the world: one write each. */
export type BackupStep =
  /** Puts our finalizer on the EtcdBackup. */
  | { readonly do: "holdBackup" }
  /** Takes it away. */
  | { readonly do: "releaseBackup" }
  | { readonly do: "createJob"; readonly job: Draft<Job> }
  | { readonly do: "createVerificationJob"; readonly job: Draft<Job> }
  | { readonly do: "createDeletionJob"; readonly job: Draft<Job> }
  | { readonly do: "deleteJob"; readonly job: Job };

export type BackupRule = Rule<BackupSnapshot, BackupStep>;
export type BackupGuard = Guard<BackupSnapshot, BackupStep>;

/** What the step would change and into what: two steps with the same words are two tries of one. */
export function targetTextOf(step: BackupStep): string {
  switch (step.do) {
    case "holdBackup":
    case "releaseBackup":
      return "";
    case "createJob":
    case "createVerificationJob":
    case "createDeletionJob":
      return step.job.metadata.name;
    case "deleteJob":
      return step.job.metadata.uid;
  }
}

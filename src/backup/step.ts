import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Draft, Job, Pod } from "#kube/kinds.ts";
import type { Guard, Rule } from "#runtime/decide.ts";

/** Steps of this controller: one write each. */
export type BackupStep =
  /** Adds the operator's finalizer to the EtcdBackup. */
  | { readonly do: "holdBackup" }
  /** Removes it. */
  | { readonly do: "releaseBackup" }
  | { readonly do: "createJob"; readonly job: Draft<Job> }
  | { readonly do: "createVerificationJob"; readonly job: Draft<Job> }
  | { readonly do: "createCheckJob"; readonly job: Draft<Job> }
  | { readonly do: "createDeletionJob"; readonly job: Draft<Job> }
  | { readonly do: "deleteJob"; readonly job: Job }
  /** Deletes a pod of a Job; the Job creates the next one. */
  | { readonly do: "deletePod"; readonly pod: Pod };

export type BackupRule = Rule<BackupSnapshot, BackupStep>;
export type BackupGuard = Guard<BackupSnapshot, BackupStep>;

/** Text that identifies the target of a step: two steps with the same text are two attempts of one step. */
export function targetTextOf(step: BackupStep): string {
  switch (step.do) {
    case "holdBackup":
    case "releaseBackup":
      return "";
    case "createJob":
    case "createVerificationJob":
    case "createCheckJob":
    case "createDeletionJob":
      return step.job.metadata.name;
    case "deleteJob":
      return step.job.metadata.uid;
    case "deletePod":
      return step.pod.metadata.uid;
  }
}

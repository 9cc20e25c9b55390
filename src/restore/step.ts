import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Draft, Job, PersistentVolumeClaim, Pod } from "#kube/kinds.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { Guard, Rule } from "#runtime/decide.ts";

/** Steps of this controller: one write each. */
export type RestoreStep =
  /** Adds the operator's finalizer to the EtcdRestore. */
  | { readonly do: "holdRestore" }
  /** Removes it. */
  | { readonly do: "releaseRestore" }
  | { readonly do: "createClaim"; readonly claim: Draft<PersistentVolumeClaim> }
  | { readonly do: "createJob"; readonly job: Draft<Job>; readonly member: string }
  | { readonly do: "deleteJob"; readonly job: Job }
  /** Deletes a pod of a Job; the Job creates the next one. */
  | { readonly do: "deletePod"; readonly pod: Pod }
  /** Annotates a claim with the identity of its cluster and member. */
  | {
      readonly do: "identifyClaim";
      readonly claim: PersistentVolumeClaim;
      readonly annotations: Readonly<Record<string, string>>;
    }
  | { readonly do: "deleteClaim"; readonly claim: PersistentVolumeClaim }
  | { readonly do: "createCluster"; readonly cluster: Draft<EtcdCluster> };

export type RestoreRule = Rule<RestoreSnapshot, RestoreStep>;
export type RestoreGuard = Guard<RestoreSnapshot, RestoreStep>;

/** Text that identifies the target of a step: two steps with the same text are two attempts of one step. */
export function targetTextOf(step: RestoreStep): string {
  switch (step.do) {
    case "holdRestore":
    case "releaseRestore":
      return "";
    case "createClaim":
      return step.claim.metadata.name;
    case "createJob":
      return step.job.metadata.name;
    case "deleteJob":
      return step.job.metadata.uid;
    case "deletePod":
      return step.pod.metadata.uid;
    case "identifyClaim":
    case "deleteClaim":
      return step.claim.metadata.uid;
    case "createCluster":
      return step.cluster.metadata.name;
  }
}

import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Draft, Job, PersistentVolumeClaim } from "#kube/kinds.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { Guard, Rule } from "#runtime/decide.ts";

/** Everything that this room can do to the world: one write each. */
export type RestoreStep =
  /** Puts our finalizer on the EtcdRestore. */
  | { readonly do: "holdRestore" }
  /** Takes it away. */
  | { readonly do: "releaseRestore" }
  | { readonly do: "createClaim"; readonly claim: Draft<PersistentVolumeClaim> }
  | { readonly do: "createJob"; readonly job: Draft<Job>; readonly member: string }
  | { readonly do: "deleteJob"; readonly job: Job }
  /** Says on a claim whose data it holds. */
  | {
      readonly do: "tellClaim";
      readonly claim: PersistentVolumeClaim;
      readonly annotations: Readonly<Record<string, string>>;
    }
  | { readonly do: "deleteClaim"; readonly claim: PersistentVolumeClaim }
  | { readonly do: "createCluster"; readonly cluster: Draft<EtcdCluster> };

export type RestoreRule = Rule<RestoreSnapshot, RestoreStep>;
export type RestoreGuard = Guard<RestoreSnapshot, RestoreStep>;

/** What the step would change and into what: two steps with the same words are two tries of one. */
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
    case "tellClaim":
    case "deleteClaim":
      return step.claim.metadata.uid;
    case "createCluster":
      return step.cluster.metadata.name;
  }
}

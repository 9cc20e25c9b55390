import { draftText } from "#api/applied-hash.ts";
import type { Draft, PersistentVolumeClaim, Pod, ReplicaSet } from "#kube/kinds.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { Guard, Rule } from "#runtime/decide.ts";

/** Everything that this controller can do to the world: one write each. */
export type PeerStep =
  | { readonly do: "createClaim"; readonly claim: Draft<PersistentVolumeClaim> }
  | { readonly do: "deleteClaim"; readonly claim: PersistentVolumeClaim }
  | {
      readonly do: "quarantineClaim";
      readonly claim: PersistentVolumeClaim;
      readonly reason: string;
      readonly at: string;
    }
  | {
      readonly do: "labelClaim";
      readonly claim: PersistentVolumeClaim;
      readonly labels: Readonly<Record<string, string>>;
    }
  | {
      readonly do: "annotateClaim";
      readonly claim: PersistentVolumeClaim;
      /** `null` removes an annotation. */
      readonly annotations: Readonly<Record<string, string | null>>;
    }
  | { readonly do: "releasePeer"; readonly finalizer: string }
  | { readonly do: "annotatePod"; readonly pod: Pod; readonly annotations: Readonly<Record<string, string>> }
  | { readonly do: "createReplicaSet"; readonly replicaSet: Draft<ReplicaSet> }
  | { readonly do: "replaceReplicaSet"; readonly live: ReplicaSet; readonly replicaSet: Draft<ReplicaSet> };

export type PeerRule = Rule<PeerSnapshot, PeerStep>;
export type PeerGuard = Guard<PeerSnapshot, PeerStep>;

/** Identifies the step's target and content: steps with equal texts are retries of one step. */
export function targetOf(step: PeerStep): string {
  switch (step.do) {
    case "createClaim":
      return step.claim.metadata.name;
    case "deleteClaim":
    case "quarantineClaim":
    case "labelClaim":
      return step.claim.metadata.uid;
    case "annotateClaim":
      return `${step.claim.metadata.uid} ${JSON.stringify(step.annotations)}`;
    case "releasePeer":
      return step.finalizer;
    case "annotatePod":
      return step.pod.metadata.uid;
    case "createReplicaSet":
    case "replaceReplicaSet":
      return draftText(step.replicaSet);
  }
}

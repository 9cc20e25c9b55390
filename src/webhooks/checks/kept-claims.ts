import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { claimsUnclear } from "#cluster/identity/rules/claims-unclear.ts";
import { withDefaultTls } from "#cluster-tls/effective/default-tls.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";
import type { Refusal } from "#webhooks/admission-review.ts";
import { newCluster } from "#webhooks/checks/new-cluster.ts";

/**
 * Refuses a new cluster that would wait for a user because of existing claims. The cluster's own rule decides.
 * @param claims all claims in the namespace with the label of this cluster's name
 */
export function keptClaimRefusals(cluster: EtcdCluster, claims: readonly PersistentVolumeClaim[]): readonly Refusal[] {
  // A claim that is being deleted resolves itself: the cluster waits for it.
  if (claims.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return [];
  const opinion = claimsUnclear.decide(withDefaultTls(newCluster(cluster, claims)));
  if (opinion?.next !== "wait") return [];
  return [{ field: "metadata.name", message: `${cluster.metadata.name} cannot be used: ${opinion.because}` }];
}

import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { withDefaultTls } from "#cluster/default-tls.ts";
import { claimTaken } from "#cluster/rules/identity/claim-taken.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";
import type { Refusal } from "#webhooks/admission-review.ts";
import { newCluster } from "#webhooks/checks/new-cluster.ts";

/**
 * A new cluster would wait for a person because of the claims that there are: better said before it is made. The rule that would
 * wait decides.
 * @param claims all with the label of this cluster's name, in its namespace
 */
export function keptClaimRefusals(cluster: EtcdCluster, claims: readonly PersistentVolumeClaim[]): readonly Refusal[] {
  // What is on its way out passes by itself: the cluster waits for it.
  if (claims.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return [];
  const opinion = claimTaken.decide(withDefaultTls(newCluster(cluster, claims)));
  if (opinion?.next !== "wait") return [];
  return [{ field: "metadata.name", message: `${cluster.metadata.name} cannot be used: ${opinion.because}` }];
}

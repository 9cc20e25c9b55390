import { isAuthorityName, isOwnSecretName, TLS_LABEL } from "#api/names.ts";
import { providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { CertificateFacts } from "#certificates/facts.ts";

// Why must a Secret consent?
//   An EtcdCluster names Secrets, and may choose the image that mounts them. The right to write EtcdClusters alone must
//   not give access to the key of any Secret of the namespace. So a label on the Secret, set with the right to write
//   it, permits the use by EtcdClusters.
// What if the label is removed later? Clusters that use the Secret keep it, since a running cluster is never broken; a
// condition reports it.

/**
 * Whether the operator may use this certificate to connect to members: a user's Secret permits it, or the cluster's
 * status lists it already.
 */
export function mayConnectWith(
  cluster: Pick<EtcdCluster, "metadata" | "spec" | "status">,
  facts: Pick<CertificateFacts, "secretName" | "mayBeShown" | "ownerUid">,
): boolean {
  const { spec, status } = cluster;
  const { secretName } = facts;
  if (facts.mayBeShown || providerOf(spec, "client") !== "Secret" || isOwnSecret(cluster, facts)) return true;
  // While the cluster changes to a user's Secret, the operator's earlier certificate stays in use without a label.
  const isFormer = spec.tls?.client.secret?.operator.name !== secretName;
  const { provider = "Secret" } = status?.tls?.client?.issuedBy ?? {};
  if (isFormer && provider !== "Secret") return true;
  return (status?.tls?.certificates ?? []).some(({ name }) => name === secretName);
}

/**
 * Whether the operator has filled the Secret for this cluster, so that no label is needed. Works before the status
 * names the issuer.
 */
export function isOwnSecret(
  { metadata }: Pick<EtcdCluster, "metadata">,
  { secretName, ownerUid }: Pick<CertificateFacts, "secretName" | "ownerUid">,
): boolean {
  return ownerUid === metadata.uid && isOwnSecretName(metadata.name, secretName) && !isAuthorityName(secretName);
}

/** How a user permits EtcdClusters to use a Secret, as a clause about the Secret. */
export function consentText(namespace: string, name: string): string {
  return isAuthorityName(name)
    ? "it has the name of an EtcdCluster's CA, and the key of a CA must stay private; use another Secret"
    : `it lacks the label that lets EtcdClusters use it: kubectl -n ${namespace} label secret ${name} ${TLS_LABEL}=true`;
}

import { isAuthorityName, isOwnSecretName, TLS_LABEL } from "#api/names.ts";
import { providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { CertificateFacts } from "#certificates/facts.ts";

// Why must a Secret consent?
//   Who may write EtcdClusters names Secrets in them, and may choose the image that gets them mounted: with no more right than that nobody is to
//   get at the key of any Secret of the namespace. So whoever may write the Secret says by a label that EtcdClusters may have it.
// And when the label is taken away later? Who has it, keeps it: what works is never torn down. It is told.

/**
 * Whether the operator may connect with this to members: somebody else who brings it says so, or the cluster had it before, by its own status.
 */
export function mayConnectWith(
  cluster: Pick<EtcdCluster, "metadata" | "spec" | "status">,
  facts: Pick<CertificateFacts, "secretName" | "mayBeShown" | "ownerUid">,
): boolean {
  const { spec, status } = cluster;
  const { secretName } = facts;
  if (facts.mayBeShown || providerOf(spec, "client") !== "Secret" || isOwnSecret(cluster, facts)) return true;
  // What somebody else is to bring follows what nobody else brought: that is in use, and needed no consent.
  const isFormer = spec.tls?.client.secret?.operatorClientSecretName !== secretName;
  const { provider = "Secret" } = status?.issuedBy?.client ?? {};
  if (isFormer && provider !== "Secret") return true;
  return (status?.certificates ?? []).some(({ name }) => name === secretName);
}

/**
 * Whether the operator has filled it for this very cluster, which needs nobody's consent: so it is known where it was made, and shown, before any status
 * told who issues.
 */
export function isOwnSecret(
  { metadata }: Pick<EtcdCluster, "metadata">,
  { secretName, ownerUid }: Pick<CertificateFacts, "secretName" | "ownerUid">,
): boolean {
  return ownerUid === metadata.uid && isOwnSecretName(metadata.name, secretName) && !isAuthorityName(secretName);
}

/** What is to be done so that EtcdClusters may have what somebody else fills, as a clause about a Secret. */
export function consentText(namespace: string, name: string): string {
  return isAuthorityName(name)
    ? "its name is that of an authority of an EtcdCluster, whose key nobody gets; it must be another Secret"
    : `it does not say that EtcdClusters may have it: kubectl -n ${namespace} label secret ${name} ${TLS_LABEL}=true`;
}

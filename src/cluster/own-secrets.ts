import { isOwnSecretName } from "#api/names.ts";
import { type NamedSecret, namedSecrets, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

// Why may people not bring what they bring in a Secret of the operator's own?
//   Whether members come to show something else is told by the names of Secrets. What the operator has issued would pass for what people bring, and
//   be renewed no more; what people bring would be in the way of what the operator is to issue one day.

/** The Secrets that people are said to fill on this side, and that the operator, or cert-manager, fills for the cluster. */
export function ownSecretsNamed(
  { metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">,
  side: Side,
): readonly NamedSecret[] {
  if (providerOf(spec, side) !== "Secret") return [];
  return namedSecrets(spec, side).filter(({ name }) => isOwnSecretName(metadata.name, name));
}

/** Why nobody comes to show what is named there: a sentence for each field. */
export function whyOwnSecrets(cluster: Pick<EtcdCluster, "metadata" | "spec">): readonly string[] {
  return (["peer", "client"] as const).flatMap((side) =>
    ownSecretsNamed(cluster, side).map(
      ({ field, name }) => `${field} is ${name}: ${ownSecretText(cluster.metadata.name)}`,
    ),
  );
}

/** @param cluster its name */
export function ownSecretText(cluster: string): string {
  return `so the operator's own Secrets of EtcdCluster ${cluster} are called; it must be another one, which may hold the same`;
}

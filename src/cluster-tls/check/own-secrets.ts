import { isOwnSecretName } from "#api/names.ts";
import { type NamedSecret, namedSecrets, providerOf, type Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

// Why may user-provided certificates not be in a Secret with one of the operator's own names?
//   A provider change is recognised by the Secret names. The operator's own certificate would count as user-provided
//   and no longer be renewed. A user-provided one would block the Secret that the operator may have to create one day.

/**
 * Secrets that spec.tls names as user-provided on this side, although the operator or cert-manager fills Secrets of
 * these names.
 */
export function ownSecretsNamed(
  { metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">,
  side: Side,
): readonly NamedSecret[] {
  if (providerOf(spec, side) !== "Secret") return [];
  return namedSecrets(spec, side).filter(({ name }) => isOwnSecretName(metadata.name, name));
}

/** Why the named Secrets are refused: a sentence for each field. */
export function whyOwnSecrets(cluster: Pick<EtcdCluster, "metadata" | "spec">): readonly string[] {
  return (["peer", "client"] as const).flatMap((side) =>
    ownSecretsNamed(cluster, side).map(
      ({ field, name }) => `${field} is ${name}: ${ownSecretText(cluster.metadata.name)}`,
    ),
  );
}

/** @param cluster name of the EtcdCluster */
export function ownSecretText(cluster: string): string {
  return `this name is reserved for the operator's own Secrets of EtcdCluster ${cluster}; copy the Secret to another name`;
}

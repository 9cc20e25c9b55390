import { operatorSecretName } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { mayConnectWith } from "#certificates/consent.ts";
import { factsOf } from "#certificates/facts.ts";
import type { Keyring } from "#certificates/keyring.ts";
import type { KubeClient } from "#kube/client.ts";
import { SECRETS } from "#kube/kinds.ts";

/**
 * Reads with what the operator connects to the cluster, if nothing is known of that yet: whoever looks first after a start is not to tell of
 * members that they cannot be asked. From then on it is kept up to date where clusters are looked after.
 * @throws OperatorError Cancelled
 */
export async function knowIdentity(
  kube: Pick<KubeClient, "find">,
  keyring: Pick<Keyring, "identityOf" | "learn">,
  cluster: Pick<EtcdCluster, "metadata" | "spec" | "status">,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = cluster.metadata;
  const secretName = operatorSecretName(cluster);
  if (secretName === undefined || keyring.identityOf({ namespace, name }) !== undefined) return;
  const found = await kube.find(SECRETS, { namespace, name: secretName }, { signal });
  if (found.is !== "present") return;
  const facts = factsOf(found.value, "leaf");
  if (facts.trouble === undefined && mayConnectWith(cluster, facts)) keyring.learn({ namespace, name }, found.value);
}

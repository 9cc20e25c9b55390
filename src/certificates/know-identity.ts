import { operatorSecretName } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { mayConnectWith } from "#certificates/consent.ts";
import { factsOf } from "#certificates/facts.ts";
import type { Keyring } from "#certificates/keyring.ts";
import type { KubeClient } from "#kube/client.ts";
import { SECRETS } from "#kube/kinds.ts";

/**
 * Reads the operator's client certificate for the cluster, unless it is in memory. So the first pass after a start does
 * not report members as unreachable.
 * Later changes are picked up by the passes of the cluster.
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

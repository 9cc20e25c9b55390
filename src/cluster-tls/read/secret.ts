import { withGiven } from "#api/given-metadata.ts";
import { applicationCertificateName, clientServiceName, clientUrl, clusterLabels } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ownedBy } from "#cluster/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { apiVersionOf, type Draft, SECRETS, type Secret } from "#kube/kinds.ts";
import { clientSecretMetadata } from "./purposes.ts";

/**
 * A Secret of the cluster.
 * @param texts its content, which is in no step, log or status
 */
export function secretDraft(
  snapshot: ClusterSnapshot,
  name: string,
  texts: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>>,
): Draft<Secret> {
  const { cluster } = snapshot;
  const isForClients = name === applicationCertificateName(cluster.metadata.name);
  const metadata = isForClients ? clientSecretMetadata(cluster) : withGiven(clusterLabels(cluster.metadata.name));
  return {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: {
      namespace: cluster.metadata.namespace,
      name,
      ...metadata,
      annotations: { ...metadata.annotations, ...annotations },
      ownerReferences: [ownedBy(snapshot)],
    },
    type: "kubernetes.io/tls",
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)])),
  };
}

/** The endpoints of the cluster, in etcdctl's format. */
export function endpointsOf({ metadata: { namespace, name } }: Pick<EtcdCluster, "metadata">): string {
  return clientUrl(`${clientServiceName(name)}.${namespace}.svc`, "https");
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

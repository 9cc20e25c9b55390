import {
  CLIENT_PORT,
  clientUrl,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  INITIAL_CLUSTER_STATE_ANNOTATION,
  METRICS_PORT,
  PEER_PORT,
  peerHost,
  peerUrl,
  VOLUME_PATH,
} from "#api/names.ts";
import { etcdResourcesOf } from "#api/pod-template/etcd-container.ts";
import { reachedBy, servedBy } from "#api/tls.ts";
import { optionVariables } from "#peer/desired/etcd-options.ts";
import { goMaxProcs, goMemLimit } from "#peer/desired/go-runtime.ts";
import { tlsVariables, toolVariables } from "#peer/desired/tls.ts";
import { capacityOf, type PeerSnapshot } from "#peer/snapshot.ts";

const DATA_DIR = `${VOLUME_PATH}/data`;

/** etcd's configuration as environment variables, in a stable order. */
export function etcdEnvironment(snapshot: PeerSnapshot): EnvironmentVariable[] {
  const { peer } = snapshot;
  const { namespace, name } = peer.metadata;
  const { clusterName, bootstrap, podTemplate } = peer.spec;
  const host = peerHost(namespace, clusterName, name);
  const [peers, clients] = [reachedBy(peer.spec), servedBy(peer.spec)];
  const { limits } = etcdResourcesOf(podTemplate) ?? {};
  const [threads, memory] = [goMaxProcs(limits?.cpu), goMemLimit(limits?.memory)];
  const variables: Record<string, string> = {
    ETCD_NAME: name,
    ETCD_DATA_DIR: DATA_DIR,
    ETCD_LISTEN_PEER_URLS: `${peers}://0.0.0.0:${PEER_PORT}`,
    ETCD_LISTEN_CLIENT_URLS: clients.map((scheme) => `${scheme}://0.0.0.0:${CLIENT_PORT}`).join(","),
    ETCD_LISTEN_METRICS_URLS: `http://0.0.0.0:${METRICS_PORT}`,
    ETCD_INITIAL_ADVERTISE_PEER_URLS: peerUrl(host, peers),
    ETCD_ADVERTISE_CLIENT_URLS: clients.map((scheme) => clientUrl(host, scheme)).join(","),
    ETCD_INITIAL_CLUSTER_TOKEN: bootstrap?.clusterToken ?? clusterName,
    ...tlsVariables(peer.spec, host),
    ...toolVariables(peer.spec),
    ...optionVariables(peer.spec, capacityOf(snapshot)),
    ...(threads === undefined ? {} : { GOMAXPROCS: String(threads) }),
    ...(memory === undefined ? {} : { GOMEMLIMIT: String(memory) }),
  };
  return [
    ...Object.entries(variables).map(([key, value]) => ({ name: key, value })),
    fromAnnotation("ETCD_INITIAL_CLUSTER", INITIAL_CLUSTER_ANNOTATION),
    fromAnnotation("ETCD_INITIAL_CLUSTER_STATE", INITIAL_CLUSTER_STATE_ANNOTATION),
  ];
}

type EnvironmentVariable =
  | { name: string; value: string }
  | { name: string; valueFrom: { fieldRef: { apiVersion: "v1"; fieldPath: string } } };

/**
 * Reads the value from a pod annotation. The kubelet resolves it at each container start, so a running pod can be
 * fenced too.
 */
function fromAnnotation(name: string, annotation: string): EnvironmentVariable {
  return { name, valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.annotations['${annotation}']` } } };
}

/** The pod annotations that decide whether etcd may bootstrap at the next container start. */
export function startAnnotations({ peer }: PeerSnapshot): Record<string, string> {
  const { bootstrap } = peer.spec;
  const list = bootstrap?.static.initialCluster.flatMap(({ name, host, peerURLs = [peerUrl(host)] }) =>
    peerURLs.map((url) => `${name ?? host.split(".")[0]}=${url}`),
  );
  return {
    [INITIAL_CLUSTER_ANNOTATION]: list?.join(",") ?? FENCE,
    [INITIAL_CLUSTER_STATE_ANNOTATION]: bootstrap?.initialClusterState === "New" ? "new" : "existing",
  };
}

// Every instance has its own network namespace, so all use the same addresses inside without collisions. Only the link
// to the host differs: a /30 for each slot.

/** Instances that may run at once on one machine. */
export const SLOTS = 16;
/** Most nodes of an instance. The API server's certificate has one address for each. */
export const MAX_NODES = 16;

export const POD_NETWORK = "10.88.0.0/16";
export const SERVICE_NETWORK = "10.96.0.0/16";
/** The API server's cluster IP, the first of the service network. */
export const KUBERNETES_SERVICE = "10.96.0.1";
export const DNS_ADDRESS = "10.88.0.10";
export const API_PORT = 6443;
export const CLUSTER_DOMAIN = "cluster.local";

/** The link between host and instance. */
export interface Link {
  /** Name of the host's end; the other end is `host0`. At most 15 characters, as the kernel demands. */
  readonly hostDevice: string;
  readonly hostAddress: string;
  /** Address of the API server, for the host and inside alike. */
  readonly insideAddress: string;
}

export function linkOf(slot: number): Link {
  return {
    hostDevice: `eco${slot}`,
    hostAddress: `10.88.255.${4 * slot + 1}`,
    insideAddress: `10.88.255.${4 * slot + 2}`,
  };
}

export interface NodeAddresses {
  readonly bridge: string;
  /** The bridge's own address, the pods' gateway. */
  readonly gateway: string;
  readonly gatewayMac: string;
  readonly podNetwork: string;
  /** Address of the kubelet, and the node's InternalIP. */
  readonly address: string;
  /** Address of the API server that only this node uses: a partition can block it for this node alone. */
  readonly apiAddress: string;
}

/** @param node 1 to MAX_NODES */
export function nodeAddresses(node: number): NodeAddresses {
  return {
    bridge: `cni${node}`,
    gateway: `10.88.${node}.1`,
    gatewayMac: `0a:58:0a:58:${node.toString(16).padStart(2, "0")}:01`,
    podNetwork: `10.88.${node}.0/24`,
    address: `10.88.0.${100 + node}`,
    apiAddress: `10.88.0.${200 + node}`,
  };
}

export function apiServerUrl(address: string): string {
  return `https://${address}:${API_PORT}`;
}

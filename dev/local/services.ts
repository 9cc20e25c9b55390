import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { CLUSTER_DOMAIN, DNS_ADDRESS, POD_NETWORK } from "./addresses.ts";
import { httpMissing } from "./health.ts";
import type { Instance } from "./instance.ts";
import { inside } from "./network.ts";
import { type ProcessTable, waitReady } from "./processes.ts";

const PROXY_HEALTH_PORT = 10256;
const DNS_READY_PORT = 8181;

// kube-proxy ends when the addresses of its node change or the node is deleted, and expects to be started again. When
// it ends within 5 s of its start it is broken and not started again, so that its error is reported.
const AGAIN_AND_AGAIN = 'while :; do since=$(date +%s); "$@"; [ $(( $(date +%s) - since )) -ge 5 ] || exit 1; done';

/**
 * Starts kube-proxy and waits until its rules are in place. One kube-proxy serves all nodes, which share the
 * namespace's rules. The Node object of node-1 must exist, as kube-proxy would wait 30 s for it.
 */
export async function ensureProxy(instance: Instance, table: ProcessTable, binary: string): Promise<void> {
  const file = join(instance.config, "kube-proxy.yaml");
  const config = stringify(proxyConfig(instance));
  // kube-proxy watches its file, and ends on any write, also of the same content.
  if (!existsSync(file) || readFileSync(file, "utf8") !== config) writeFileSync(file, config);
  const proxy = await table.ensure(
    "kube-proxy",
    inside(instance, [
      "sh",
      "-c",
      AGAIN_AND_AGAIN,
      "kube-proxy",
      binary,
      `--config=${file}`,
      "--hostname-override=node-1",
    ]),
  );
  await waitReady(proxy, () => httpMissing(`http://${instance.link.insideAddress}:${PROXY_HEALTH_PORT}/livez`));
}

/** Starts CoreDNS and waits until it knows the cluster's Services. */
export async function ensureDns(instance: Instance, table: ProcessTable, binary: string): Promise<void> {
  const file = join(instance.config, "Corefile");
  writeFileSync(file, corefile(instance));
  const dns = await table.ensure("coredns", inside(instance, [binary, "-conf", file]));
  await waitReady(dns, () => httpMissing(`http://${instance.link.insideAddress}:${DNS_READY_PORT}/ready`));
}

function proxyConfig(instance: Instance) {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clientConnection: { kubeconfig: join(instance.config, "kube-proxy.kubeconfig") },
    clusterCIDR: POD_NETWORK,
    healthzBindAddress: `0.0.0.0:${PROXY_HEALTH_PORT}`,
    // 0: keep the size of the connection table, which is shared by the whole machine.
    conntrack: { maxPerCore: 0 },
    // With the default of 1 s between updates, the first packet to a new Service would find no rule.
    nftables: { minSyncPeriod: "0s", syncPeriod: "30s" },
  };
}

// Without the cache plugin, which would also cache missing names: a new pod must be found at once.
function corefile(instance: Instance): string {
  return `.:53 {
  bind ${DNS_ADDRESS}
  ready ${instance.link.insideAddress}:${DNS_READY_PORT}
  errors
  kubernetes ${CLUSTER_DOMAIN} in-addr.arpa {
    kubeconfig ${join(instance.config, "coredns.kubeconfig")}
    ttl 1
  }
}
`;
}

import { Gauge, type Registry } from "prom-client";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";

// Names as in backup-metrics.ts. A certificate that ends is what people watch over: each has its own line.

const LABELS = ["namespace", "cluster", "user", "name"] as const;

/** What is to be told of certificates. @param clusters every EtcdCluster that there is @param users every EtcdUser */
export function certificateMetrics(
  registry: Registry,
  clusters: () => readonly EtcdCluster[],
  users: () => readonly EtcdUser[],
): void {
  const ends: Gauge<(typeof LABELS)[number]> = new Gauge({
    name: "etcd_operator_certificate_end_timestamp_seconds",
    help: "When the certificate in the Secret of this name ends, since 1970. What is left of its time is this less time(). user: the EtcdUser whose binding it is; without one it is the cluster's own.",
    labelNames: LABELS,
    registers: [registry],
    collect: () => {
      ends.reset(); // those that are gone
      for (const { metadata, status } of clusters())
        for (const { name, notAfter } of status?.certificates ?? [])
          ends.set({ namespace: metadata.namespace, cluster: metadata.name, name }, Date.parse(notAfter) / 1_000);
      for (const { metadata, spec, status } of users()) {
        const { binding, certificate } = status ?? {};
        if (binding === undefined || certificate === undefined) continue;
        const labels = { cluster: spec.clusterName, user: metadata.name, name: binding.name };
        ends.set({ namespace: metadata.namespace, ...labels }, Date.parse(certificate.notAfter) / 1_000);
      }
    },
  });
}

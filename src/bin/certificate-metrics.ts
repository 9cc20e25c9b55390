import { Gauge, type Registry } from "prom-client";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";

// Names as in backup-metrics.ts. Users monitor each certificate's expiry, so each one has its own series.

const LABELS = ["namespace", "cluster", "user", "name"] as const;

/** Registers the metrics of certificates. @param clusters all EtcdClusters @param users all EtcdUsers */
export function certificateMetrics(
  registry: Registry,
  clusters: () => readonly EtcdCluster[],
  users: () => readonly EtcdUser[],
): void {
  const ends: Gauge<(typeof LABELS)[number]> = new Gauge({
    name: "etcd_operator_certificate_not_after_timestamp_seconds",
    help: "Expiry of the certificate in the Secret of this name, since 1970. The remaining time is this less time(). user: the EtcdUser of the binding; without one the certificate is the cluster's own.",
    labelNames: LABELS,
    registers: [registry],
    collect: () => {
      ends.reset(); // Removes the series of deleted objects.
      for (const { metadata, status } of clusters())
        for (const { name, notAfter } of status?.tls?.certificates ?? [])
          ends.set({ namespace: metadata.namespace, cluster: metadata.name, name }, Date.parse(notAfter) / 1_000);
      for (const { metadata, spec, status } of users()) {
        const { binding, certificate } = status ?? {};
        if (binding === undefined || certificate === undefined) continue;
        const labels = { cluster: spec.clusterRef.name, user: metadata.name, name: binding.name };
        ends.set({ namespace: metadata.namespace, ...labels }, Date.parse(certificate.notAfter) / 1_000);
      }
    },
  });
}

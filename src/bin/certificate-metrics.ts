import { Gauge, type Registry } from "prom-client";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

// Names as in backup-metrics.ts. A certificate that ends is what people watch over: each has its own line.

const LABELS = ["namespace", "cluster", "name"] as const;

/** What is to be told of certificates. @param list every EtcdCluster that there is */
export function certificateMetrics(registry: Registry, list: () => readonly EtcdCluster[]): void {
  const ends: Gauge<(typeof LABELS)[number]> = new Gauge({
    name: "etcd_operator_certificate_end_timestamp_seconds",
    help: "When the certificate in the Secret of this name ends, since 1970. What is left of its time is this less time().",
    labelNames: LABELS,
    registers: [registry],
    collect: () => {
      ends.reset(); // those that are gone
      for (const { metadata, status } of list())
        for (const { name, notAfter } of status?.certificates ?? [])
          ends.set({ namespace: metadata.namespace, cluster: metadata.name, name }, Date.parse(notAfter) / 1_000);
    },
  });
}

import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/cluster.ts";
import { certificateMetrics } from "./certificate-metrics.ts";

test("each certificate on record has a line with when it ends, and those that are gone have none", async () => {
  const registry = new Registry();
  const { cluster: bare } = cluster();
  const certificates = ["my-etcd-peer-tls", "my-etcd-server-tls"].map((name, n) => ({
    name,
    notAfter: `2026-03-0${n + 1}T00:00:00Z`,
    issuer: "CN=a",
  }));
  let all: readonly EtcdCluster[] = [bare, { ...bare, status: { ...bare.status, certificates } }];
  certificateMetrics(registry, () => all);
  const lines = async () => (await registry.metrics()).split("\n").filter((line) => line.includes("{"));
  const labels = 'namespace="foo",cluster="my-etcd"';
  expect(await lines()).toEqual([
    `etcd_operator_certificate_end_timestamp_seconds{${labels},name="my-etcd-peer-tls"} ${Date.UTC(2026, 2, 1) / 1_000}`,
    `etcd_operator_certificate_end_timestamp_seconds{${labels},name="my-etcd-server-tls"} ${Date.UTC(2026, 2, 2) / 1_000}`,
  ]);
  all = [bare];
  expect(await lines()).toEqual([]);
});

import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { clusterMetrics } from "./cluster-metrics.ts";

test("the number of a cluster's quarantined claims and the time of the oldest are exported", async () => {
  const registry = new Registry();
  const { cluster: bare } = cluster();
  const quarantinedClaims = { count: 3, oldestTime: "2026-03-01T00:00:00Z" };
  let all: readonly EtcdCluster[] = [bare, { ...bare, status: { ...bare.status, quarantinedClaims } }];
  clusterMetrics(registry, () => all);
  const lines = async () => (await registry.metrics()).split("\n").filter((line) => line.includes("{"));
  const labels = '{namespace="foo",name="my-etcd"}';
  expect(await lines()).toEqual([
    `etcd_operator_quarantined_claims${labels} 3`,
    `etcd_operator_quarantined_claims_oldest_timestamp_seconds${labels} ${Date.UTC(2026, 2, 1) / 1_000}`,
  ]);
  all = [{ ...bare, status: { ...bare.status, quarantinedClaims: { count: 1 } } }];
  expect(await lines()).toEqual([`etcd_operator_quarantined_claims${labels} 1`]);
  all = [bare];
  expect(await lines()).toEqual([]);
});

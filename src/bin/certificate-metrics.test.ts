import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { etcdUser } from "#kit/snapshots/access.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { certificateMetrics } from "./certificate-metrics.ts";

test("the expiry of each certificate in the status is exported, and no longer once the object is deleted", async () => {
  const registry = new Registry();
  const { cluster: bare } = cluster();
  const certificates = ["my-etcd-peer-tls", "my-etcd-server-tls"].map((name, n) => ({
    name,
    notAfter: `2026-03-0${n + 1}T00:00:00Z`,
    issuer: "CN=a",
  }));
  let all: readonly EtcdCluster[] = [bare, { ...bare, status: { ...bare.status, tls: { certificates } } }];
  certificateMetrics(
    registry,
    () => all,
    () => users,
  );
  const binding = { name: "app-binding" };
  const certificate = { notAfter: "2026-03-03T00:00:00Z" };
  let users: readonly EtcdUser[] = [
    etcdUser({ status: { binding, certificate } }),
    etcdUser({ name: "byPassword", status: { binding } }),
    etcdUser({ name: "gone", status: { certificate } }),
    { ...etcdUser({ name: "new" }), status: undefined } as never,
  ];
  const lines = async () => (await registry.metrics()).split("\n").filter((line) => line.includes("{"));
  const labels = 'namespace="foo",cluster="my-etcd"';
  expect(await lines()).toEqual([
    `etcd_operator_certificate_not_after_timestamp_seconds{${labels},name="my-etcd-peer-tls"} ${Date.UTC(2026, 2, 1) / 1_000}`,
    `etcd_operator_certificate_not_after_timestamp_seconds{${labels},name="my-etcd-server-tls"} ${Date.UTC(2026, 2, 2) / 1_000}`,
    `etcd_operator_certificate_not_after_timestamp_seconds{${labels},user="app",name="app-binding"} ${Date.UTC(2026, 2, 3) / 1_000}`,
  ]);
  all = [bare];
  users = [];
  expect(await lines()).toEqual([]);
});

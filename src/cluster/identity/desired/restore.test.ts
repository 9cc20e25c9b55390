import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { restoreFor } from "./restore.ts";

const given = cluster({ stage: "new", spec: { bootstrap: { fromBackup: { backupName: "nightly" } } } });

test("the EtcdRestore of a cluster has the cluster as owner and its spec without bootstrap as template", () => {
  const { bootstrap: _, ...spec } = given.cluster.spec;
  const restore = restoreFor(given, { backupName: "nightly" });
  expect(restore.metadata).toMatchObject({
    namespace: "foo",
    name: "my-etcd",
    ownerReferences: [{ kind: "EtcdCluster", name: "my-etcd", uid: "uid-of-cluster", controller: true }],
  });
  expect(restore.spec?.source).toEqual({ backupName: "nightly" });
  expect(restore.spec?.clusterTemplate).toEqual({ clusterName: "my-etcd", spec });
});

test("the EtcdRestore of a cluster has the configured pod template, or none", () => {
  const podTemplate = { spec: { serviceAccountName: "reader" } };
  const { spec } = restoreFor(given, { backupName: "nightly", podTemplate });
  expect([spec?.podTemplate, spec?.source]).toEqual([podTemplate, { backupName: "nightly" }]);
  expect(restoreFor(given, { backupName: "nightly" }).spec).not.toHaveProperty("podTemplate");
});

test("the EtcdRestore of a cluster has the configured point in time, or none", () => {
  const until = { time: "2026-01-31T12:00:00Z" };
  const { spec } = restoreFor(given, { backupName: "nightly", until });
  expect([spec?.until, spec?.source]).toEqual([until, { backupName: "nightly" }]);
  expect(restoreFor(given, { backupName: "nightly" }).spec).not.toHaveProperty("until");
});

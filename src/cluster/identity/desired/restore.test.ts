import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { restoreFor } from "./restore.ts";

const NIGHTLY = { source: { backupName: "nightly" } };
const given = cluster({ stage: "new", spec: { bootstrap: { fromBackup: NIGHTLY } } });

test("the EtcdRestore of a cluster has the cluster as owner and its spec without bootstrap as template", () => {
  const { bootstrap: _, ...spec } = given.cluster.spec;
  const restore = restoreFor(given, NIGHTLY);
  expect(restore.metadata).toMatchObject({
    namespace: "foo",
    name: "my-etcd",
    ownerReferences: [{ kind: "EtcdCluster", name: "my-etcd", uid: "uid-of-cluster", controller: true }],
  });
  expect(restore.spec?.source).toEqual({ backupName: "nightly" });
  expect(restore.spec?.clusterTemplate).toEqual({ clusterName: "my-etcd", spec });
});

test("the EtcdRestore of a cluster has the configured point in time and pod template, or none", () => {
  const more = { until: { time: "2026-01-31T12:00:00Z" }, podTemplate: { spec: { serviceAccountName: "reader" } } };
  expect(restoreFor(given, { ...NIGHTLY, ...more }).spec).toMatchObject({ ...NIGHTLY, ...more });
  const { spec } = restoreFor(given, NIGHTLY);
  for (const field of Object.keys(more)) expect(spec).not.toHaveProperty(field);
});

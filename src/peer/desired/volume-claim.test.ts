import { expect, test } from "vitest";
import { peer } from "#kit/snapshots/peer.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";

test("a member's claim has the member's IDs and no owner reference, so it outlives the EtcdPeer", () => {
  const { spec } = peer().peer;
  expect(volumeClaim(peer({ stage: "new" }))).toEqual({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      namespace: "foo",
      name: "my-etcd-0",
      labels: {
        "app.kubernetes.io/name": "etcd",
        "app.kubernetes.io/managed-by": "etcd-cluster-operator",
        "etcd.improbable.io/cluster-name": "my-etcd",
        "app.kubernetes.io/component": "member",
        "etcd.improbable.io/peer-name": "my-etcd-0",
      },
      annotations: {
        "etcd.improbable.io/cluster-id": spec.clusterID,
        "etcd.improbable.io/cluster-token": "foo/my-etcd/uid-of-cluster",
        "etcd.improbable.io/member-id": spec.memberID,
      },
    },
    spec: { accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem", resources: { requests: { storage: "8Gi" } } },
  });
});

test("a claim has the size, storage class and selector of spec.storage", () => {
  const said = {
    storageClassName: "fast",
    selector: { matchLabels: { disk: "ssd" } },
    volumeAttributesClassName: "gold",
    accessModes: ["ReadWriteOncePod"],
  };
  expect(volumeClaim(peer({ stage: "new", spec: { storage: { ...said, size: "20Gi" } } })).spec).toEqual({
    ...said,
    volumeMode: "Filesystem",
    resources: { requests: { storage: "20Gi" } },
  });
});

test("a claim has no annotations for IDs that are not known yet", () => {
  const { clusterID } = peer().peer.spec;
  const fresh = peer({ stage: "new", spec: { memberID: undefined, clusterToken: undefined } });
  expect(volumeClaim(fresh).metadata.annotations).toStrictEqual({ "etcd.improbable.io/cluster-id": clusterID });
});

import { expect, test } from "vitest";
import { ETCD_PEERS } from "#api/v1alpha1/peer.ts";
import { peerSpecSchema } from "#api/v1alpha1/peer-schema.ts";
import { fencedPeer, intendedPeer, joiningPeer, newPeer } from "#cluster/desired/peer.ts";
import { apiVersionOf } from "#kube/kinds.ts";
import { cluster } from "../../../test/kit/cluster.ts";
import { stranger, withMember } from "../../../test/kit/cluster-changes.ts";

const settled = cluster();
const identity = settled.cluster.status!.identity!;
const [first] = identity.initialMembers;
const { storage, podTemplate, version } = settled.cluster.spec;
const hosts = (...ordinals: readonly number[]) =>
  ordinals.map((ordinal) => ({ name: `my-etcd-${ordinal}`, host: `my-etcd-${ordinal}.my-etcd.foo.svc` }));

/** What stands in the spec whatever stage the member is in. */
const always = {
  clusterName: "my-etcd",
  version,
  clusterID: identity.clusterID,
  clusterToken: identity.token,
  storage,
  podTemplate,
};

test("a first member's peer is, field by field, what the talk shows", () => {
  expect(newPeer(cluster({ stage: "recorded" }), identity, "my-etcd-0")).toEqual({
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: "EtcdPeer",
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
      annotations: { "etcd.improbable.io/applied-hash": expect.stringMatching(/^\S{8,}$/) },
      ownerReferences: [
        {
          apiVersion: apiVersionOf(ETCD_PEERS),
          kind: "EtcdCluster",
          name: "my-etcd",
          uid: "uid-of-cluster",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      ...always,
      memberID: first?.id,
      bootstrap: {
        initialClusterState: "New",
        clusterToken: identity.token,
        static: { initialCluster: hosts(0, 1, 2) },
      },
    },
  });
});

const stages = [
  {
    name: "a member that has joined has no means to bootstrap",
    given: fencedPeer(settled, identity, "my-etcd-0"),
    expect: { ...always, memberID: first?.id },
  },
  {
    name: "a member that is going to be asked for has no ID, so that nothing of it starts",
    given: intendedPeer(settled, identity, "my-etcd-3"),
    expect: {
      ...always,
      bootstrap: {
        initialClusterState: "Existing",
        clusterToken: identity.token,
        static: { initialCluster: hosts(0, 1, 2, 3) },
      },
    },
  },
  {
    name: "a member that was added joins with the ID that etcd gave, and knows itself once",
    given: joiningPeer(settled, identity, "my-etcd-2", "77"),
    expect: {
      ...always,
      memberID: "77",
      bootstrap: {
        initialClusterState: "Existing",
        clusterToken: identity.token,
        static: { initialCluster: hosts(0, 1, 2) },
      },
    },
  },
];
test("a member that joins is told where one of somebody else is reached, as etcd lists it", () => {
  const grown = withMember(settled, stranger({ name: "theirs", peerUrls: ["http://10.1.2.3:12380"] }));
  const list = joiningPeer(grown, identity, "my-etcd-3", "77").spec?.bootstrap?.static.initialCluster;
  expect(list).toContainEqual({
    name: "theirs.f00",
    host: "theirs.f00.my-etcd.foo.svc",
    peerURLs: ["http://10.1.2.3:12380"],
  });
  expect(list?.filter(({ peerURLs }) => peerURLs === undefined)).toEqual(hosts(0, 1, 2, 3));
});

for (const { name, given, expect: wanted } of stages) {
  test(name, () => {
    expect(given.spec).toEqual(wanted);
    expect(peerSpecSchema.parse(given.spec)).toEqual(given.spec);
  });
}

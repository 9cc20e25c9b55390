import { expect, test } from "vitest";
import { reachedBy } from "#api/tls.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { fencedPeer, intendedPeer, joiningPeer, newPeer, revisedPeer } from "#cluster/desired/peer.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { cluster, LATER_ID, withoutMember } from "#kit/cluster.ts";
import { stranger, withEachMember, withMember, withoutPeers } from "#kit/cluster-changes.ts";
import { switching } from "#kit/cluster-switch.ts";
import { listedBy } from "#kit/cluster-tls.ts";
import { apiVersionOf } from "#kube/kinds.ts";

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

const overTls = { ...identity, peerScheme: "https" as const };
const secureHosts = (...ordinals: readonly number[]) =>
  hosts(...ordinals).map((entry) => ({ ...entry, peerURLs: [`https://${entry.host}:2380`] }));
const tls = { peer: { secretName: "a", trust: "b" } };
/** The snapshot of a cluster whose members reach each other by https, as etcd lists them. */
const secured = withEachMember(
  {
    ...settled,
    peers: settled.peers.map((peer) => ({ ...peer, spec: { ...peer.spec, tls } })),
    cluster: { ...settled.cluster, status: { ...settled.cluster.status, identity: overTls } },
  },
  (member) => ({ ...member, peerUrls: member.peerUrls.map((url) => url.replace("http:", "https:")) }),
);

const stages = [
  {
    name: "first members that speak TLS are told where the others are",
    given: newPeer(cluster({ stage: "recorded" }), overTls, "my-etcd-0"),
    expect: {
      ...always,
      memberID: first?.id,
      bootstrap: {
        initialClusterState: "New",
        clusterToken: identity.token,
        static: { initialCluster: secureHosts(0, 1, 2) },
      },
    },
  },
  {
    name: "so is a member that is to be added to them",
    given: intendedPeer(secured, overTls, "my-etcd-3"),
    expect: {
      ...always,
      tls,
      bootstrap: {
        initialClusterState: "Existing",
        clusterToken: identity.token,
        static: { initialCluster: secureHosts(0, 1, 2, 3) },
      },
    },
  },
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

test("a first member gets its own ID", () => {
  const ids = identity.initialMembers.map(({ name }) => newPeer(settled, identity, name).spec?.memberID);
  expect(ids).toEqual(identity.initialMembers.map(({ id }) => id));
});

test("what has no means to bootstrap, or no ID, does not name them", () => {
  expect(fencedPeer(settled, identity, "my-etcd-0").spec).not.toHaveProperty("bootstrap");
  expect(intendedPeer(settled, identity, "my-etcd-3").spec).not.toHaveProperty("memberID");
});

test("the ID of a member that has joined is what etcd lists, then what its EtcdPeer has, and the frozen list's at last", () => {
  const name = "my-etcd-1";
  const [, founder] = identity.initialMembers;
  const id = (snapshot: typeof settled) => fencedPeer(snapshot, identity, name).spec?.memberID;
  const peers = settled.peers.map((peer) =>
    peer.metadata.name === name ? { ...peer, spec: { ...peer.spec, memberID: LATER_ID } } : peer,
  );
  const later = withEachMember(settled, (_, n) => (n === 1 ? { id: memberIdFromHex(LATER_ID) } : {}));
  expect(id(withoutPeers(later, name))).toBe(LATER_ID);
  expect(id(withoutPeers(withoutMember(settled, name), name))).toBe(founder?.id);
  expect(id(withoutMember({ ...settled, peers }, name))).toBe(LATER_ID);
});

test("whoever joins is told where each member is: where it would be sought, while nothing else is known, or at all its URLs", () => {
  const listed = (snapshot: typeof settled) =>
    intendedPeer(snapshot, identity, "my-etcd-3").spec?.bootstrap?.static.initialCluster[1];
  const usual = { name: "my-etcd-1", host: "my-etcd-1.my-etcd.foo.svc" };
  expect(listed(cluster({ down: ["my-etcd-0", "my-etcd-1"] }))).toStrictEqual(usual);
  const peerURLs = ["http://my-etcd-1.my-etcd.foo.svc:2380", "http://10.1.2.3:2380"];
  const two = withEachMember(settled, (_, n) => (n === 1 ? { peerUrls: peerURLs } : {}));
  expect(listed(two)).toEqual({ ...usual, peerURLs });
});

const live = settled.peers[0]!;
const newer = { version: "3.6.17", podTemplate };

test("a peer with another wish has what it goes back to on record, and is otherwise as it was", () => {
  const own = { version, podTemplate };
  expect(revisedPeer(live, newer, own).spec).toEqual({ ...live.spec, ...newer, previous: own });
  expect(revisedPeer(live, newer, undefined).spec).toEqual({ ...live.spec, ...newer });
  const tried = { ...live, spec: { ...live.spec, ...newer, previous: own } };
  expect(revisedPeer(tried, own, undefined).spec).toEqual(live.spec);
  expect(revisedPeer(tried, { version: "3.6.18", podTemplate }, undefined).spec?.previous).toEqual(own);
  expect(revisedPeer(live, newer, undefined).spec).not.toHaveProperty("previous");
});

test("what a person has taken from a peer is not put back with a wish: that is another rule's business", () => {
  const { labels, ownerReferences, ...rest } = live.metadata;
  expect(revisedPeer(live, newer, undefined).metadata).toMatchObject({ labels, ownerReferences });
  const bare = revisedPeer({ ...live, metadata: rest }, newer, undefined).metadata;
  expect(bare).not.toHaveProperty("labels");
  expect(bare).not.toHaveProperty("ownerReferences");
});

test("what a member goes back to stays on record whatever else is written", () => {
  const previous = { version: "3.6.15", podTemplate };
  const peers = [{ ...live, spec: { ...live.spec, previous } }, ...settled.peers.slice(1)];
  expect(fencedPeer({ ...settled, peers }, identity, "my-etcd-0").spec?.previous).toEqual(previous);
  expect(fencedPeer(settled, identity, "my-etcd-0").spec).not.toHaveProperty("previous");
});

test("while members go over to TLS each is reached as its EtcdPeer says, as etcd lists it when that is gone, and a new one as most are", () => {
  const half = switching({}, ["reached", "both", "both"]);
  const mostly = switching({}, ["both", "reached", "reached"]);
  const by = (given: typeof settled, name: string) => reachedBy(fencedPeer(given, identity, name).spec!);
  const gone = (given: typeof settled, name: string) => by(withoutPeers(given, name), name);
  expect([by(half, "my-etcd-0"), by(half, "my-etcd-1")]).toEqual(["https", "http"]);
  expect(by(listedBy(half, "http", ["my-etcd-0"]), "my-etcd-0")).toBe("https");
  expect([gone(half, "my-etcd-0"), gone(half, "my-etcd-1")]).toEqual(["https", "http"]);
  expect([gone(mostly, "my-etcd-0"), gone(mostly, "my-etcd-1")]).toEqual(["http", "https"]);
  const added = (given: typeof settled) => intendedPeer(given, identity, "my-etcd-3").spec!;
  expect([half, mostly].map((given) => reachedBy(added(given)))).toEqual(["http", "https"]);
  expect(added(half).bootstrap?.static.initialCluster.map(({ peerURLs }) => peerURLs?.[0])).toEqual([
    "https://my-etcd-0.my-etcd.foo.svc:2380",
    undefined,
    undefined,
    undefined,
  ]);
});

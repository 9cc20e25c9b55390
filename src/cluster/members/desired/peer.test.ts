import { expect, test } from "vitest";
import { reachedBy } from "#api/tls.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, LATER_ID, withoutMember } from "#kit/snapshots/cluster.ts";
import { stranger, withEachMember, withMember, withoutPeers } from "#kit/snapshots/cluster-changes.ts";
import { listedBy } from "#kit/snapshots/cluster-tls.ts";
import { switching } from "#kit/snapshots/scheme-change.ts";
import { apiVersionOf } from "#kube/kinds.ts";
import { fencedPeer, intendedPeer, joiningPeer, newPeer, revisedPeer } from "./peer.ts";

const settled = cluster();
const identity = settled.cluster.status!.identity!;
const [first] = identity.initialMembers;
const { storage, podTemplate, version } = settled.cluster.spec;
const hosts = (...ordinals: readonly number[]) =>
  ordinals.map((ordinal) => ({ name: `my-etcd-${ordinal}`, host: `my-etcd-${ordinal}.my-etcd.foo.svc` }));

/** The part of the spec that is the same in each stage. */
const always = {
  clusterName: "my-etcd",
  version,
  clusterID: identity.clusterID,
  clusterToken: identity.token,
  storage,
  podTemplate,
};

test("the EtcdPeer of an initial member has all expected fields", () => {
  expect(newPeer(cluster({ stage: "recorded" }), identity, "my-etcd-0")).toEqual({
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: "EtcdPeer",
    metadata: {
      namespace: "foo",
      name: "my-etcd-0",
      labels: {
        "app.kubernetes.io/name": "etcd",
        "app.kubernetes.io/instance": "my-etcd",
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
/** The snapshot in which members use https, as etcd lists them. */
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
    name: "the EtcdPeer of an initial member with TLS has the https URLs of all initial members",
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
    name: "the intent of a joining member with TLS has the https URLs of all members",
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
    name: "the EtcdPeer of a joined member cannot bootstrap",
    given: fencedPeer(settled, identity, "my-etcd-0"),
    expect: { ...always, memberID: first?.id },
  },
  {
    name: "an intent has no member ID, so that nothing starts",
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
    name: "the EtcdPeer of an added member has the ID from etcd and lists the member once",
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
test("the EtcdPeer of a joining member has the URL that etcd lists for a foreign member", () => {
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

test("the EtcdPeer of each initial member has its own member ID", () => {
  const ids = identity.initialMembers.map(({ name }) => newPeer(settled, identity, name).spec?.memberID);
  expect(ids).toEqual(identity.initialMembers.map(({ id }) => id));
});

test("bootstrap and memberID are left out of an EtcdPeer when they have no value", () => {
  expect(fencedPeer(settled, identity, "my-etcd-0").spec).not.toHaveProperty("bootstrap");
  expect(intendedPeer(settled, identity, "my-etcd-3").spec).not.toHaveProperty("memberID");
});

test("fencedPeer: the member ID comes from etcd, else from the EtcdPeer, else from the identity", () => {
  const name = "my-etcd-1";
  const [, founder] = identity.initialMembers;
  const id = (snapshot: typeof settled) => fencedPeer(snapshot, identity, name).spec?.memberID;
  const peers = settled.peers.map((peer) =>
    peer.metadata.name === name ? { ...peer, spec: { ...peer.spec, memberID: LATER_ID } } : peer,
  );
  const later = withEachMember(settled, (_, n) => (n === 1 ? { id: memberIdFromHex(LATER_ID) } : {}));
  expect(id(withoutPeers(later, name))).toBe(LATER_ID);
  expect(id(begin(settled).apply(withoutMember, name).apply(withoutPeers, name).snapshot)).toBe(founder?.id);
  expect(id(withoutMember({ ...settled, peers }, name))).toBe(LATER_ID);
});

test("the EtcdPeer of a joining member leaves out URLs that are the default", () => {
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

test("revisedPeer: changes only the template and records the previous template", () => {
  const own = { version, podTemplate };
  expect(revisedPeer(live, newer, own).spec).toEqual({ ...live.spec, ...newer, previous: own });
  expect(revisedPeer(live, newer, undefined).spec).toEqual({ ...live.spec, ...newer });
  const tried = { ...live, spec: { ...live.spec, ...newer, previous: own } };
  expect(revisedPeer(tried, own, undefined).spec).toEqual(live.spec);
  expect(revisedPeer(tried, { version: "3.6.18", podTemplate }, undefined).spec?.previous).toEqual(own);
  expect(revisedPeer(live, newer, undefined).spec).not.toHaveProperty("previous");
});

test("revisedPeer: does not restore fields that a person removed", () => {
  const { labels, ownerReferences, ...rest } = live.metadata;
  expect(revisedPeer(live, newer, undefined).metadata).toMatchObject({ labels, ownerReferences });
  const bare = revisedPeer({ ...live, metadata: rest }, newer, undefined).metadata;
  expect(bare).not.toHaveProperty("labels");
  expect(bare).not.toHaveProperty("ownerReferences");
});

test("fencedPeer: keeps spec.previous", () => {
  const previous = { version: "3.6.15", podTemplate };
  const peers = [{ ...live, spec: { ...live.spec, previous } }, ...settled.peers.slice(1)];
  expect(fencedPeer({ ...settled, peers }, identity, "my-etcd-0").spec?.previous).toEqual(previous);
  expect(fencedPeer(settled, identity, "my-etcd-0").spec).not.toHaveProperty("previous");
});

test("during a switch to TLS a peer URL's scheme follows the EtcdPeer, else etcd's list, else most members", () => {
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

test("a new member's volume is at least as large as the largest claim of a voter", () => {
  const grown = (...sizes: readonly (string | number | undefined)[]) => ({
    ...settled,
    claims: settled.claims.map((each, n) => {
      const requests = sizes[n] === undefined ? {} : { storage: sizes[n] };
      return { ...each, spec: { ...each.spec, resources: { requests } } };
    }),
  });
  const sizeOf = (given: typeof settled, name = "my-etcd-3") => intendedPeer(given, identity, name).spec?.storage.size;
  expect(sizeOf(settled)).toBe(storage.size);
  expect(sizeOf(grown("20Gi", "8Gi", "12Gi"))).toBe("20Gi");
  expect(sizeOf(grown(undefined, "100Mi", 42949672960))).toBe(42949672960);
  expect(sizeOf(grown("1Gi", "1Gi", "nonsense"))).toBe(storage.size);
  const [, second] = identity.initialMembers;
  expect(sizeOf(withoutMember(grown("8Gi", "20Gi", "8Gi"), second!.name))).toBe(storage.size);
  expect(intendedPeer(grown("20Gi"), identity, "my-etcd-3").spec?.storage).toEqual({ ...storage, size: "20Gi" });
  expect(fencedPeer(grown("20Gi"), identity, "my-etcd-0").spec?.storage).toEqual(storage);
});

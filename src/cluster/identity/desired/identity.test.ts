import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLAIM_RELEASE_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_LABEL,
} from "#api/names.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { identityFor } from "#etcd/identity.ts";
import { hexOf } from "#etcd/types.ts";
import { claim, claimIdentity, cluster } from "#kit/snapshots/cluster.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";
import { adoptedIdentity, extendedIdentity, identityOnClaim, newIdentity, whyNotExtended } from "./identity.ts";

test("a new cluster's identity has its first members in order, none joined, and a unique token", () => {
  const identity = newIdentity(cluster({ stage: "new" }));
  expect(identity.token).toBe("foo/my-etcd/uid-of-cluster");
  expect(identity.initialMembers.map(({ name, joined }) => ({ name, joined }))).toEqual(
    ["my-etcd-0", "my-etcd-1", "my-etcd-2"].map((name) => ({ name, joined: false })),
  );
  expect(new Set(identity.initialMembers.map(({ id }) => id)).size).toBe(3);
});

test("the identity of a cluster does not depend on time, and a recreated cluster has another", () => {
  const snapshot = cluster({ stage: "new" });
  expect(newIdentity({ ...snapshot, takenAtMs: 0 })).toEqual(newIdentity(snapshot));
  const metadata = { ...snapshot.cluster.metadata, uid: "uid-of-the-next" };
  const again = newIdentity({ ...snapshot, cluster: { ...snapshot.cluster, metadata } });
  expect(again.clusterID).not.toBe(newIdentity(snapshot).clusterID);
});

test("toldBy: changes with the claim's identity annotations, UID, quarantine, deletion and volume only", () => {
  const one = claim("my-etcd-0", claimIdentity("c1", "m1"));
  const { metadata } = one;
  const changed = (change: object) => ({ ...one, metadata: { ...metadata, ...change } });
  const saying = (annotation: string) => changed({ annotations: { ...metadata.annotations, [annotation]: "other" } });
  const others = [
    ...[
      CLAIM_CLUSTER_ID_ANNOTATION,
      CLAIM_CLUSTER_TOKEN_ANNOTATION,
      CLAIM_MEMBER_ID_ANNOTATION,
      CLAIM_RELEASE_ANNOTATION,
      PEER_SCHEME_ANNOTATION,
    ].map(saying),
    changed({ uid: "another" }),
    changed({ labels: { ...metadata.labels, [QUARANTINE_LABEL]: "true" } }),
    changed({ deletionTimestamp: "2026-01-01T12:00:00Z" }),
    { ...one, spec: { ...one.spec, volumeName: one.spec?.volumeName === undefined ? "pv-1" : undefined } },
  ] as PersistentVolumeClaim[];
  for (const other of others) expect(identityOnClaim(other)).not.toEqual(identityOnClaim(one));
  expect(identityOnClaim(saying("somebody-elses"))).toEqual(identityOnClaim(one));
  expect(identityOnClaim(changed({ resourceVersion: "999", labels: { a: "b" } }) as PersistentVolumeClaim)).toEqual(
    identityOnClaim(one),
  );
});

function going(name: string): PersistentVolumeClaim {
  const one = claim(name, claimIdentity("c1", "m1"));
  return { ...one, metadata: { ...one.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
}
function quarantined(name: string): PersistentVolumeClaim {
  const one = claim(name, claimIdentity("c2", "m9"));
  return { ...one, metadata: { ...one.metadata, labels: { [QUARANTINE_LABEL]: "true" } } };
}

/** Without this annotation. */
function without(annotation: string, one: PersistentVolumeClaim): PersistentVolumeClaim {
  const { [annotation]: _, ...annotations } = one.metadata.annotations ?? {};
  return { ...one, metadata: { ...one.metadata, annotations } };
}

function withToken(token: string, one: PersistentVolumeClaim): PersistentVolumeClaim {
  const annotations = { ...one.metadata.annotations, [CLAIM_CLUSTER_TOKEN_ANNOTATION]: token };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

const kept = [claim("my-etcd-10", claimIdentity("c1", "m10")), claim("my-etcd-9", claimIdentity("c1", "m9"))];
const adopted = {
  clusterID: "c1",
  token: "foo/my-etcd/uid-of-cluster",
  initialMembers: [
    { name: "my-etcd-9", id: "m9", joined: true },
    { name: "my-etcd-10", id: "m10", joined: true },
  ],
  adopting: true,
};

/** A cluster adopted from the claims of my-etcd-9 and my-etcd-10, with these additional claims. */
function adopting(more: readonly PersistentVolumeClaim[], identity: object = adopted): ClusterSnapshot {
  const snapshot = cluster({ stage: "new", with: { claims: [...kept, ...more] } });
  return { ...snapshot, cluster: { ...snapshot.cluster, status: { identity } as never } };
}

const later = claim("my-etcd-11", claimIdentity("c1", "m11"));
const others: readonly [string, PersistentVolumeClaim][] = [
  ["with another cluster ID", claim("my-etcd-11", claimIdentity("c2", "m11"))],
  ["with another cluster token", withToken("foo/my-etcd/uid-of-another", later)],
  ["without a member ID", without(CLAIM_MEMBER_ID_ANNOTATION, later)],
  ["that is being deleted", { ...going("my-etcd-11"), spec: later.spec } as PersistentVolumeClaim],
  ["that was never bound", claim("my-etcd-11", claimIdentity("c1", "m11"), { bound: false })],
  ["that was quarantined", quarantined("my-etcd-11")],
  ["with a name outside the cluster's pattern", claim("copy-of-my-etcd-11", claimIdentity("c1", "m11"))],
  ["with the name of a recorded member", claim("my-etcd-9", claimIdentity("c1", "m11"))],
  ["with the ID of a recorded member", claim("my-etcd-11", claimIdentity("c1", "m9"))],
];

test("members of later claims are added after the recorded members, in order of ordinals", () => {
  const first = claim("my-etcd-2", claimIdentity("c1", "m2"));
  expect(extendedIdentity(adopting([later, first]))).toEqual({
    ...adopted,
    initialMembers: [
      ...adopted.initialMembers,
      { name: "my-etcd-2", id: "m2", joined: true },
      { name: "my-etcd-11", id: "m11", joined: true },
    ],
  });
});

test("a later claim adds no member once etcd's list is read, nor to an identity not being adopted", () => {
  expect(extendedIdentity(adopting([]))).toBeUndefined();
  const { adopting: _, ...settled } = adopted;
  expect(extendedIdentity(adopting([later], settled))).toBeUndefined();
  expect(extendedIdentity(adopting([later], { ...adopted, adopting: false }))).toBeUndefined();
  const { members } = cluster();
  expect(extendedIdentity({ ...adopting([later]), members })).toBeUndefined();
  expect(extendedIdentity(cluster({ stage: "new", with: { claims: [later] } }))).toBeUndefined();
});

test.each(others)("a later claim %s adds no member", (_, other) => {
  expect(extendedIdentity(adopting([other]))).toBeUndefined();
});

const ONCE = "Two processes must never run as one member: delete the claims that are copies";

test("two later claims with the same member ID are not adopted, while another later claim is", () => {
  const given = adopting([
    claim("my-etcd-12", claimIdentity("c1", "m11")),
    later,
    claim("my-etcd-2", claimIdentity("c1", "m2")),
  ]);
  expect(extendedIdentity(given)!.initialMembers.slice(2)).toEqual([{ name: "my-etcd-2", id: "m2", joined: true }]);
  const why = `claims my-etcd-11 and my-etcd-12 have the data of one member (m11). ${ONCE}.`;
  expect(whyNotExtended(given)).toEqual([
    `Claim my-etcd-11 is not adopted: ${why}`,
    `Claim my-etcd-12 is not adopted: ${why}`,
  ]);
});

test("a later claim of a member with an https URL is adopted only by a cluster with TLS", () => {
  const given = adopting([secured(later)]);
  expect(extendedIdentity(given)).toBeUndefined();
  expect(whyNotExtended(given)).toEqual([
    "Claim my-etcd-11 is not adopted: the peer URL of my-etcd-11 has https, and spec.tls.peer.provider is None; set it to Operator, CertManager or Secret; it may be None once the cluster runs.",
  ]);
  const spec = { ...given.cluster.spec, ...TLS };
  const withTls = { ...given, cluster: { ...given.cluster, spec } };
  for (const one of [withTls, adopting([later])]) {
    expect(extendedIdentity(one)).toMatchObject({ initialMembers: [{}, {}, { name: "my-etcd-11" }] });
    expect(whyNotExtended(one)).toEqual([]);
  }
});

const cases: { name: string; claims: readonly PersistentVolumeClaim[]; expect: object }[] = [
  { name: "the claims of one cluster give its members, in order of ordinals", claims: kept, expect: adopted },
  { name: "a quarantined claim is ignored", claims: [...kept, quarantined("my-etcd-3")], expect: adopted },
  {
    name: "a claim that is being deleted prevents adoption",
    claims: [...kept, going("my-etcd-0")],
    expect: { unclear: "claim my-etcd-0 is being deleted" },
  },
  {
    name: "a claim without identity annotations prevents adoption",
    claims: [...kept, claim("my-etcd-0")],
    expect: { unclear: "claim my-etcd-0 lacks the annotations with its cluster and member" },
  },
  {
    name: "a claim with a member ID but without a cluster ID prevents adoption",
    claims: [...kept, without(CLAIM_CLUSTER_ID_ANNOTATION, claim("my-etcd-0", claimIdentity("c1", "m0")))],
    expect: { unclear: "claim my-etcd-0 lacks the annotations with its cluster and member" },
  },
  {
    name: "a claim with a cluster but without a member prevents adoption",
    claims: [...kept, without(CLAIM_MEMBER_ID_ANNOTATION, claim("my-etcd-0", claimIdentity("c1", "m0")))],
    expect: { unclear: "claim my-etcd-0 lacks the annotations with its cluster and member" },
  },
  {
    name: "a single claim defines the identity of its cluster",
    claims: [kept[0]!],
    expect: { ...adopted, initialMembers: [{ name: "my-etcd-10", id: "m10", joined: true }] },
  },
  {
    name: "a claim without a cluster token prevents adoption",
    claims: [kept[0]!, without(CLAIM_CLUSTER_TOKEN_ANNOTATION, kept[1]!)],
    expect: { unclear: "claim my-etcd-9 lacks the annotations with its cluster and member" },
  },
  ...[
    ["of another namespace", "prod/my-etcd/uid-of-cluster", "of EtcdCluster my-etcd in namespace prod"],
    ["of another cluster name", "foo/other/uid-of-cluster", "of EtcdCluster other in namespace foo"],
    ["without slashes", "my-token", "of unknown origin"],
    ["of too many parts", "foo/my-etcd/uid/more", "of unknown origin"],
    ["of too few parts", "foo/my-etcd", "of unknown origin"],
  ].map(([name, token = "", whose]) => ({
    name: `claims with a token ${name} are never adopted`,
    claims: [kept[0]!, withToken(token, kept[1]!)],
    expect: {
      unclear: `claim my-etcd-9 has the data of a member ${whose} (cluster token ${token}). Members that start on a copy join the cluster it was copied from, so copied claims are never used. To copy a cluster, make an EtcdBackup of it and an EtcdRestore here`,
    },
  })),
  {
    name: "claims of an earlier EtcdCluster with the same name are adopted",
    claims: kept.map((each) => withToken("foo/my-etcd/uid-of-another", each)),
    expect: { ...adopted, token: "foo/my-etcd/uid-of-another" },
  },
  {
    name: "a claim with a name outside the cluster's pattern prevents adoption",
    claims: [...kept, claim("data-my-etcd-0", claimIdentity("c1", "m1"))],
    expect: { unclear: "claim data-my-etcd-0 lacks the annotations with its cluster and member" },
  },
  {
    name: "a claim and its copy prevent adoption: both would run as one member",
    claims: [...kept, claim("my-etcd-12", claimIdentity("c1", "m10"))],
    expect: { unclear: `claims my-etcd-10 and my-etcd-12 have the data of one member (m10). ${ONCE}` },
  },
  {
    name: "claims of two clusters prevent adoption and are named in the reason",
    claims: [kept[1]!, claim("my-etcd-0", claimIdentity("c2", "m1"))],
    expect: { unclear: "they belong to different clusters: my-etcd-0 to c2, my-etcd-9 to c1" },
  },
];
/** The claims of all first members, of which these are bound. */
function founding(bound: readonly string[]): PersistentVolumeClaim[] {
  const { clusterID, initialMembers } = newIdentity(cluster({ stage: "new" }));
  return initialMembers.map(({ name, id }) => {
    return claim(name, claimIdentity(clusterID, id), { bound: bound.includes(name) });
  });
}
function joinedOf(claims: readonly PersistentVolumeClaim[]): object {
  const identity = adoptedIdentity(cluster({ stage: "new", with: { claims } }));
  return "unclear" in identity ? identity : identity.initialMembers.map(({ joined }) => joined);
}

test("identity by claims: a first member with an unbound claim counts as not joined", () => {
  expect(joinedOf(founding([]))).toEqual([false, false, false]);
  expect(joinedOf(founding(["my-etcd-0", "my-etcd-2"]))).toEqual([true, false, true]);
});

test("identity by claims: when a claim is missing, only members with bound claims are adopted", () => {
  expect(joinedOf(founding(["my-etcd-1", "my-etcd-2"]).slice(1))).toEqual([true, true]);
  expect(joinedOf(founding(["my-etcd-1"]).slice(1))).toEqual([true]);
  expect(joinedOf(founding([]).slice(1))).toEqual({
    unclear: "my-etcd-1, my-etcd-2 never held data, and those that did are not there",
  });
});

test("identity by claims: a later member that reuses a first member's name is adopted only with a bound claim", () => {
  const later = (bound: boolean) =>
    claim("my-etcd-2", claimIdentity(newIdentity(cluster({ stage: "new" })).clusterID, "abc"), { bound });
  const two = founding(["my-etcd-0", "my-etcd-1"]).slice(0, 2);
  expect(joinedOf([...two, later(false)])).toEqual([true, true]);
  expect(joinedOf([...two, later(true)])).toEqual([true, true, true]);
});

test("identity by claims: an unbound claim of a later member alone is not adopted", () => {
  const { clusterID } = newIdentity(cluster({ stage: "new", replicas: 1 }));
  const claims = [claim("my-etcd-0", claimIdentity(clusterID, "abc"), { bound: false })];
  expect(adoptedIdentity(cluster({ stage: "new", replicas: 1, with: { claims } }))).toHaveProperty("unclear");
});

const TLS = { tls: clusterTlsSchema.parse({}) };

test("the identity of a new cluster with peer TLS has IDs computed with https and peer scheme https", () => {
  const secured = newIdentity(cluster({ stage: "new", spec: TLS }));
  const plain = newIdentity(cluster({ stage: "new" }));
  expect(secured.peerScheme).toBe("https");
  expect(plain).not.toHaveProperty("peerScheme");
  const urlOf = (name: string) => `https://${name}.my-etcd.foo.svc:2380`;
  const members = plain.initialMembers.map(({ name }) => ({ name, peerUrl: urlOf(name) }));
  const computed = identityFor({ token: plain.token, members });
  expect(secured.clusterID).toBe(hexOf(computed.clusterId));
  expect(secured.initialMembers.map(({ id }) => id)).toEqual(computed.members.map(({ id }) => hexOf(id)));
  const none = { tls: clusterTlsSchema.parse({ peer: { provider: "None" } }) };
  expect(newIdentity(cluster({ stage: "new", spec: none }))).toEqual(plain);
});

/** The claim of a member with https in its peer URL. */
function secured(one: PersistentVolumeClaim): PersistentVolumeClaim {
  const annotations = { ...one.metadata.annotations, [PEER_SCHEME_ANNOTATION]: "https" };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

test.each([
  {
    name: "claims with https are adopted with peer scheme https when the spec has TLS",
    claims: kept.map(secured),
    spec: TLS,
    is: { ...adopted, peerScheme: "https" },
  },
  {
    name: "claims with https are not adopted without TLS in the spec",
    claims: kept.map(secured),
    spec: {},
    is: {
      unclear:
        "the peer URL of my-etcd-9 has https, and spec.tls.peer.provider is None; set it to Operator, CertManager or Secret; it may be None once the cluster runs",
    },
  },
  { name: "claims with http are adopted also with TLS in the spec", claims: kept, spec: TLS, is: adopted },
  {
    name: "claims with both schemes are adopted with TLS in the spec",
    claims: [kept[0]!, secured(kept[1]!)],
    spec: TLS,
    is: { ...adopted, peerScheme: "https" },
  },
  {
    name: "claims with both schemes are not adopted without TLS in the spec",
    claims: [kept[0]!, secured(kept[1]!)],
    spec: {},
    is: {
      unclear:
        "the peer URL of my-etcd-9 has https, and spec.tls.peer.provider is None; set it to Operator, CertManager or Secret; it may be None once the cluster runs",
    },
  },
])("identity by claims: $name", ({ claims, spec, is }) => {
  expect(adoptedIdentity(cluster({ stage: "new", spec, with: { claims } }))).toEqual(is);
});

test("identity by claims: first members are recognised by IDs computed with https", () => {
  const { clusterID, initialMembers } = newIdentity(cluster({ stage: "new", spec: TLS }));
  const claims = initialMembers.map(({ name, id }) =>
    secured(claim(name, claimIdentity(clusterID, id), { bound: name === "my-etcd-1" })),
  );
  const identity = adoptedIdentity(cluster({ stage: "new", spec: TLS, with: { claims } }));
  expect(identity).toMatchObject({ peerScheme: "https", initialMembers: [{ joined: false }, { joined: true }, {}] });
});

test.each([
  {
    name: "https when its claims have http now",
    born: TLS,
    now: (one: PersistentVolumeClaim) => one,
    peerScheme: "https",
  },
  { name: "http when its claims have https now", born: {}, now: secured, peerScheme: undefined },
])("identity by claims: keeps the peer scheme of a cluster formed with $name", ({ born, now, peerScheme }) => {
  const { clusterID, initialMembers } = newIdentity(cluster({ stage: "new", spec: born }));
  const claims = initialMembers.map(({ name, id }) => now(claim(name, claimIdentity(clusterID, id))));
  const identity = adoptedIdentity(cluster({ stage: "new", spec: TLS, with: { claims } }));
  expect(identity).toMatchObject({ clusterID });
  expect("unclear" in identity ? identity : identity.peerScheme).toBe(peerScheme);
});

for (const { name, claims, expect: wanted } of cases) {
  test(`identity by claims: ${name}`, () =>
    expect(adoptedIdentity(cluster({ stage: "new", with: { claims } }))).toEqual(wanted));
}

import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_LABEL,
} from "#api/names.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import { adoptedIdentity, newIdentity, toldBy } from "#cluster/desired/identity.ts";
import { identityFor } from "#etcd/identity.ts";
import { hexOf } from "#etcd/types.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";
import { claim, claimIdentity, cluster } from "../../../test/kit/cluster.ts";

test("a new cluster's identity has its first members in order, none of them joined, and a token that no other cluster had", () => {
  const identity = newIdentity(cluster({ stage: "new" }));
  expect(identity.token).toBe("foo/my-etcd/uid-of-cluster");
  expect(identity.initialMembers.map(({ name, joined }) => ({ name, joined }))).toEqual(
    ["my-etcd-0", "my-etcd-1", "my-etcd-2"].map((name) => ({ name, joined: false })),
  );
  expect(new Set(identity.initialMembers.map(({ id }) => id)).size).toBe(3);
});

test("the same cluster always computes the same identity, and one made again under its name another one", () => {
  const snapshot = cluster({ stage: "new" });
  expect(newIdentity({ ...snapshot, takenAtMs: 0 })).toEqual(newIdentity(snapshot));
  const metadata = { ...snapshot.cluster.metadata, uid: "uid-of-the-next" };
  const again = newIdentity({ ...snapshot, cluster: { ...snapshot.cluster, metadata } });
  expect(again.clusterID).not.toBe(newIdentity(snapshot).clusterID);
});

test("who the cluster is is told by each annotation of a claim, by whether it goes or was put aside, and by whether it may hold data", () => {
  const one = claim("my-etcd-0", claimIdentity("c1", "m1"));
  const { metadata } = one;
  const changed = (change: object) => ({ ...one, metadata: { ...metadata, ...change } });
  const saying = (annotation: string) => changed({ annotations: { ...metadata.annotations, [annotation]: "other" } });
  const others = [
    ...[
      CLAIM_CLUSTER_ID_ANNOTATION,
      CLAIM_CLUSTER_TOKEN_ANNOTATION,
      CLAIM_MEMBER_ID_ANNOTATION,
      PEER_SCHEME_ANNOTATION,
    ].map(saying),
    changed({ uid: "another" }),
    changed({ labels: { ...metadata.labels, [QUARANTINE_LABEL]: "true" } }),
    changed({ deletionTimestamp: "2026-01-01T12:00:00Z" }),
    { ...one, spec: { ...one.spec, volumeName: one.spec?.volumeName === undefined ? "pv-1" : undefined } },
  ] as PersistentVolumeClaim[];
  for (const other of others) expect(toldBy(other)).not.toEqual(toldBy(one));
  expect(toldBy(saying("somebody-elses"))).toEqual(toldBy(one));
  expect(toldBy(changed({ resourceVersion: "999", labels: { a: "b" } }) as PersistentVolumeClaim)).toEqual(toldBy(one));
});

function going(name: string): PersistentVolumeClaim {
  const one = claim(name, claimIdentity("c1", "m1"));
  return { ...one, metadata: { ...one.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
}
function putAside(name: string): PersistentVolumeClaim {
  const one = claim(name, claimIdentity("c2", "m9"));
  return { ...one, metadata: { ...one.metadata, labels: { [QUARANTINE_LABEL]: "true" } } };
}

/** What does not say this of itself. */
function without(annotation: string, one: PersistentVolumeClaim): PersistentVolumeClaim {
  const { [annotation]: _, ...annotations } = one.metadata.annotations ?? {};
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
};
const cases: { name: string; claims: readonly PersistentVolumeClaim[]; expect: object }[] = [
  { name: "claims of one cluster tell who it is, in order of ordinals", claims: kept, expect: adopted },
  { name: "a claim that was put aside does not count", claims: [...kept, putAside("my-etcd-3")], expect: adopted },
  {
    name: "a claim that is going tells nothing",
    claims: [...kept, going("my-etcd-0")],
    expect: { unclear: "claim my-etcd-0 is being deleted" },
  },
  {
    name: "a claim without a word tells nothing",
    claims: [...kept, claim("my-etcd-0")],
    expect: { unclear: "claim my-etcd-0 does not say which member of which cluster it belongs to" },
  },
  {
    name: "a claim that tells its member and not its cluster tells nothing",
    claims: [...kept, without(CLAIM_CLUSTER_ID_ANNOTATION, claim("my-etcd-0", claimIdentity("c1", "m0")))],
    expect: { unclear: "claim my-etcd-0 does not say which member of which cluster it belongs to" },
  },
  {
    name: "the token is told by whichever claim knows it",
    claims: [kept[0]!, without(CLAIM_CLUSTER_TOKEN_ANNOTATION, kept[1]!)],
    expect: adopted,
  },
  {
    name: "a claim under another name tells nothing",
    claims: [...kept, claim("data-my-etcd-0", claimIdentity("c1", "m1"))],
    expect: { unclear: "claim data-my-etcd-0 does not say which member of which cluster it belongs to" },
  },
  {
    name: "claims of two clusters tell nothing, and are named",
    claims: [kept[1]!, claim("my-etcd-0", claimIdentity("c2", "m1"))],
    expect: { unclear: "they belong to different clusters: my-etcd-0 to c2, my-etcd-9 to c1" },
  },
];
/** The claims of all first members, some of which have been given a volume. */
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

test("identity by claims: first members whose claims never had a volume have not joined", () => {
  expect(joinedOf(founding([]))).toEqual([false, false, false]);
  expect(joinedOf(founding(["my-etcd-0", "my-etcd-2"]))).toEqual([true, false, true]);
});

test("identity by claims: when one is missing, it is not known who ran: only who has a volume is a member, and counts as joined", () => {
  expect(joinedOf(founding(["my-etcd-1", "my-etcd-2"]).slice(1))).toEqual([true, true]);
  expect(joinedOf(founding(["my-etcd-1"]).slice(1))).toEqual([true]);
  expect(joinedOf(founding([]).slice(1))).toEqual({
    unclear: "my-etcd-1, my-etcd-2 never held data, and those that did are not there",
  });
});

test("identity by claims: a later member under a first member's name is told by its ID, and is no first member", () => {
  const later = (bound: boolean) =>
    claim("my-etcd-2", claimIdentity(newIdentity(cluster({ stage: "new" })).clusterID, "abc"), { bound });
  const two = founding(["my-etcd-0", "my-etcd-1"]).slice(0, 2);
  expect(joinedOf([...two, later(false)])).toEqual([true, true]);
  expect(joinedOf([...two, later(true)])).toEqual([true, true, true]);
});

test("identity by claims: the claim of a later member alone, without a volume, forms no second cluster", () => {
  const { clusterID } = newIdentity(cluster({ stage: "new", replicas: 1 }));
  const claims = [claim("my-etcd-0", claimIdentity(clusterID, "abc"), { bound: false })];
  expect(adoptedIdentity(cluster({ stage: "new", replicas: 1, with: { claims } }))).toHaveProperty("unclear");
});

const TLS = { tls: clusterTlsSchema.parse({}) };

test("a new cluster whose members speak TLS to each other has other members, and says so", () => {
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

/** The claim of a member that the others reach by https. */
function secured(one: PersistentVolumeClaim): PersistentVolumeClaim {
  const annotations = { ...one.metadata.annotations, [PEER_SCHEME_ANNOTATION]: "https" };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

test.each([
  { name: "the same scheme comes back", claims: kept.map(secured), spec: TLS, is: { ...adopted, peerScheme: "https" } },
  {
    name: "https is not given up",
    claims: kept.map(secured),
    spec: {},
    is: {
      unclear:
        "the others reach my-etcd-9 by https, and spec.tls.peer.provider is None; it must be Operator, CertManager or Secret, and may become None when the cluster runs",
    },
  },
  { name: "it may be begun", claims: kept, spec: TLS, is: adopted },
  {
    name: "claims may differ in it, where members were on their way to TLS or back",
    claims: [kept[0]!, secured(kept[1]!)],
    spec: TLS,
    is: { ...adopted, peerScheme: "https" },
  },
  {
    name: "who is to have none of it does not come back while somebody is reached so",
    claims: [kept[0]!, secured(kept[1]!)],
    spec: {},
    is: {
      unclear:
        "the others reach my-etcd-9 by https, and spec.tls.peer.provider is None; it must be Operator, CertManager or Secret, and may become None when the cluster runs",
    },
  },
])("identity by claims: $name", ({ claims, spec, is }) => {
  expect(adoptedIdentity(cluster({ stage: "new", spec, with: { claims } }))).toEqual(is);
});

test("identity by claims: first members are known by what their IDs were made from, https included", () => {
  const { clusterID, initialMembers } = newIdentity(cluster({ stage: "new", spec: TLS }));
  const claims = initialMembers.map(({ name, id }) =>
    secured(claim(name, claimIdentity(clusterID, id), { bound: name === "my-etcd-1" })),
  );
  const identity = adoptedIdentity(cluster({ stage: "new", spec: TLS, with: { claims } }));
  expect(identity).toMatchObject({ peerScheme: "https", initialMembers: [{ joined: false }, { joined: true }, {}] });
});

test.each([
  { name: "https, and by now by http", born: TLS, now: (one: PersistentVolumeClaim) => one, peerScheme: "https" },
  { name: "http, and by now by https", born: {}, now: secured, peerScheme: undefined },
])("identity by claims: how first members were reached stands in it: by $name", ({ born, now, peerScheme }) => {
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

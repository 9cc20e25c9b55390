import { describe, expect, test } from "vitest";
import { CLIENT_TRUST_ANNOTATION, PEER_TLS_VOLUME, PEER_TRUST_ANNOTATION } from "#api/names.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { membersRejectingApplications } from "#cluster-tls/check/client-secret.ts";
import { membersUsingOtherCa, membersWithoutCa, secretsInUse } from "#cluster-tls/check/trusted.ts";
import { purposesOf, sideOf } from "#cluster-tls/read/purposes.ts";
import { contentProblem, isIssuedHere, seen } from "#cluster-tls/read/usable.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { boundTo } from "#kit/snapshots/bindings.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import {
  bundle,
  CORP,
  made,
  NEXT,
  OWN,
  RENEWED,
  running,
  secured,
  THEIRS,
  unissued,
  withMade,
} from "#kit/snapshots/cluster-tls.ts";
import { seenToo } from "#kit/snapshots/provider-change.ts";
import type { Pod } from "#kube/kinds.ts";
import { AUTHORITY_LIFE, phaseOf, rotationWait } from "./ca-rotation.ts";

const settled = secured();
const both = bundle(OWN, NEXT);
const CLIENTS = ["server", "operator", "application"] as const;

/** All certificates of the client side have this, except one. */
function clients(snapshot: ClusterSnapshot, all: object, one: object, which = 1): ClusterSnapshot {
  const each = CLIENTS.map((purpose, n) => [purpose, { ...all, ...(n === which ? one : {}) }] as const);
  return withMade(snapshot, Object.fromEntries(each));
}

const added = begin(settled)
  .apply(withMade, { clientCA: { next: NEXT } })
  .apply(clients, { trust: both }, {})
  .apply(running).snapshot;
const switched = withMade(added, { clientCA: { by: NEXT, trust: both } });
/** All certificates are signed by this CA, and pods were created since. */
const replaced = begin(switched).apply(clients, { by: NEXT, trust: both }, {}).apply(running).snapshot;

test("a CA is valid for ten years, and is rotated a year before its end", () => {
  expect(AUTHORITY_LIFE).toEqual({ durationMs: 3_650 * 86_400_000, renewBeforeMs: 365 * 86_400_000 });
});

describe("a CA rotation", () => {
  const phase = (snapshot: ClusterSnapshot) => phaseOf(snapshot, "client")?.phase;

  test("waits for each certificate before the new CA signs", () => {
    expect(phase(added)).toBe("switch");
    for (const which of [0, 1, 2]) {
      expect(phase(clients(added, { trust: both }, { knownForMs: 149_999 }, which))).toBeUndefined();
      expect(phase(clients(added, { trust: both }, { trust: bundle(OWN) }, which))).toBeUndefined();
      expect(phase(clients(added, { trust: both }, { trouble: "it has no tls.key" }, which))).toBeUndefined();
    }
  });

  test("waits for each certificate before the old CA is dropped", () => {
    const done = { by: NEXT, trust: both };
    expect(phase(replaced)).toBe("drop");
    for (const which of [0, 1, 2]) {
      expect(phase(clients(replaced, done, { by: OWN }, which))).toBeUndefined();
      expect(phase(clients(replaced, done, { knownForMs: 149_999 }, which))).toBeUndefined();
    }
    // The Secret's content is not what members use, however old it is.
    const long = { ...done, knownForMs: Number.POSITIVE_INFINITY };
    expect(phase(clients(switched, long, {}))).toBeUndefined();
    expect(
      phase(begin(switched).apply(clients, long, {}).apply(running, ["my-etcd-0", "my-etcd-2"]).snapshot),
    ).toBeUndefined();
    const untrusting = begin(settled)
      .apply(withMade, { clientCA: { by: NEXT, trust: both } })
      .apply(clients, done, {}).snapshot;
    expect(phase(untrusting)).toBeUndefined();
  });

  test("waits for --reread-within on the client side and not on the peer side", () => {
    const patient = (snapshot: ClusterSnapshot) => ({ ...snapshot, rereadWithinMs: 3_700_000 });
    const done = { by: NEXT, trust: both };
    for (const [snapshot, all, next] of [
      [added, { trust: both }, "switch"],
      [replaced, done, "drop"],
    ] as const)
      for (const which of [0, 1, 2]) {
        expect(phase(patient(clients(snapshot, all, { knownForMs: 3_700_000 }, which)))).toBeUndefined();
        const long = { ...all, knownForMs: 3_700_000 };
        expect(phase(patient(clients(snapshot, long, { knownForMs: 3_699_999 }, which)))).toBeUndefined();
        expect(phase(patient(clients(snapshot, long, {}, which)))).toBe(next);
      }
    const peer = withMade(settled, { peerCA: { next: NEXT }, peer: { trust: both, knownForMs: 0 } });
    expect(phaseOf(patient(running(peer)), "peer")?.phase).toBe("switch");
  });

  test("adds the next CA again when it was removed from the bundle", () => {
    const cut = { next: NEXT, trust: bundle(OWN) };
    for (const snapshot of [settled, added]) expect(phase(withMade(snapshot, { clientCA: cut }))).toBe("add");
    expect(phase(withMade(added, { clientCA: { ...cut, trust: both } }))).toBe("switch");
  });

  test("waits for each certificate before a further CA is added", () => {
    const aged = withMade(settled, { clientCA: { lastsMs: 1 } });
    expect(phase(aged)).toBe("add");
    for (const which of [0, 1, 2])
      expect(phase(clients(aged, {}, { by: THEIRS, trust: bundle(OWN, THEIRS) }, which))).toBeUndefined();
  });
});

describe("a member trusts a CA", () => {
  const without = (snapshot: ClusterSnapshot, ids: readonly string[] = [OWN.id]) =>
    membersWithoutCa(snapshot, "peer", ids);

  test("when its EtcdPeer and its running pod have the CA", () => {
    expect(without(settled)).toEqual([]);
    expect(without(settled, [OWN.id, NEXT.id])).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
    const [first, ...others] = settled.peers;
    const { tls: _, ...spec } = first!.spec;
    const theirs = { ...first!.spec, tls: { ...first!.spec.tls, peer: { secretName: "a", trust: bundle(NEXT) } } };
    expect(without({ ...settled, peers: [{ ...first!, spec: theirs }, ...others] })).toEqual(["my-etcd-0"]);
    expect(without({ ...settled, pods: new Map() })).toEqual([]);
    // While TLS is turned on or off, members without it verify no certificate.
    expect(without({ ...settled, pods: cluster().pods })).toEqual([]);
    expect(without({ ...settled, peers: [{ ...first!, spec }, ...others] })).toEqual([]);
  });

  test("on the peer and the client side separately", () => {
    const pod = settled.pods.get("my-etcd-0")!;
    const annotated = (annotations: object) => {
      const changed = {
        ...pod,
        metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...annotations } },
      };
      return { ...settled, pods: new Map(settled.pods).set("my-etcd-0", changed as Pod) };
    };
    expect(without(annotated({ [PEER_TRUST_ANNOTATION]: bundle(NEXT) }))).toEqual(["my-etcd-0"]);
    expect(without(annotated({ [CLIENT_TRUST_ANNOTATION]: bundle(NEXT) }))).toEqual([]);
  });
});

describe("a member uses a certificate of a CA", () => {
  const authority = ({ id, pem }: typeof NEXT) => ({ fingerprint: id, trust: pem });
  const trusting = begin(settled)
    .apply(withMade, { peerCA: { next: NEXT }, peer: { trust: both } })
    .apply(running).snapshot;
  const peer = withMade(trusting, { peerCA: { by: NEXT, trust: both }, peer: { by: NEXT, trust: both } });
  const late = (snapshot: ClusterSnapshot, by = NEXT) => membersUsingOtherCa(snapshot, "peer", authority(by));
  const all = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];

  test("when its EtcdPeer names the CA as signer and its pod was created from that", () => {
    expect(late(settled)).toEqual(all);
    // With a single CA no signer is recorded.
    expect(late(settled, OWN)).toEqual(all);
    expect(late(running(peer))).toEqual([]);
    expect(late(running(peer), OWN)).toEqual(all);
    expect(late(running(peer, ["my-etcd-1"]))).toEqual(["my-etcd-0", "my-etcd-2"]);
    expect(late({ ...running(peer), pods: peer.pods })).toEqual(all);
    expect(late({ ...running(peer), peers: peer.peers })).toEqual(all);
    // A member without a pod will get a newer one.
    expect(late({ ...running(peer), pods: new Map() })).toEqual([]);
  });

  test("unless its pod is new, because the kubelet may have cached an old Secret", () => {
    const known = (forMs: number, given = running(peer)) =>
      seenToo(given, {
        podsForMs: new Map([
          ["my-etcd-0", 3_600_000],
          ["my-etcd-1", forMs],
        ]),
      });
    expect(late(known(149_999))).toEqual(["my-etcd-1"]);
    expect(late(known(150_000))).toEqual([]);
    expect(late(known(0, { ...running(peer), pods: cluster().pods }))).toEqual([]);
    expect(phaseOf(running(peer), "peer")?.phase).toBe("drop");
    expect(phaseOf(known(149_999), "peer")).toBeUndefined();
  });

  test("on the peer and the client side separately", () => {
    expect(membersUsingOtherCa(running(peer), "client", authority(NEXT))).toEqual(all);
    const client = begin(switched).apply(clients, { by: NEXT, trust: both }, {}).apply(running).snapshot;
    expect(membersUsingOtherCa(client, "client", authority(NEXT))).toEqual([]);
    expect(membersUsingOtherCa(client, "peer", authority(NEXT))).toEqual(all);
  });

  test("on no side without TLS", () => {
    const bare = cluster();
    expect(late(bare)).toEqual([]);
    expect(late({ ...running(peer), pods: bare.pods })).toEqual([]);
    expect(late({ ...running(peer), peers: bare.peers })).toEqual([]);
  });
});

test("a CA with a renewed certificate counts as the signer of certificates from before the renewal", () => {
  const corps = bundle(CORP, RENEWED);
  const formed = secured({}, {}, { by: CORP, trust: corps });
  const bindings = [boundTo({ trustIds: [CORP.id, RENEWED.id], signerId: CORP.id })];
  const given = begin(formed)
    .apply(withMade, { clientCA: { by: RENEWED, trust: corps } })
    .apply(seenToo, { bindings }).snapshot;
  expect(membersUsingOtherCa(given, "client", { fingerprint: RENEWED.id, trust: corps })).toEqual([]);
  expect(phaseOf(given, "client")?.phase).toBe("drop");
  const guard = CLUSTER_GUARDS.find(({ name }) => name === "trusted-first");
  const facts = seen(given, "clientCA")!;
  const step = { do: "rotateAuthority", side: "client", phase: "drop", facts } as const;
  expect(guard?.forbids(given, step)).toBeUndefined();
  const late = seenToo(given, { bindings: [boundTo({ trustIds: [CORP.id, RENEWED.id] })] });
  expect([phaseOf(late, "client"), rotationWait(late, "client")]).toEqual([
    undefined,
    expect.stringContaining("Secret shop-binding of EtcdUser shop has to have a certificate"),
  ]);
});

test("applications may get a renewed certificate of their CA although members reject that CA", () => {
  const has = made(settled, "application", { by: CORP });
  const others = (by: typeof CORP) => membersRejectingApplications(settled, made(settled, "application", { by }), has);
  expect(others(RENEWED)).toEqual([]);
  expect(others(NEXT)).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
});

test("the Secrets in use are those that EtcdPeers name or pods mount", () => {
  expect([...secretsInUse(settled, "peer")]).toEqual(["my-etcd-peer-tls"]);
  const pod = settled.pods.get("my-etcd-0")!;
  const sources = [{ downwardAPI: {} }, { secret: { name: "earlier" } }];
  const volumes = [{ name: "data" }, { name: PEER_TLS_VOLUME, projected: { sources } }];
  const shown = { ...pod, spec: { ...pod.spec, volumes } } as unknown as Pod;
  const given = { ...settled, pods: new Map(settled.pods).set("my-etcd-0", shown) };
  expect([...secretsInUse(given, "peer")]).toEqual(["my-etcd-peer-tls", "earlier"]);
  expect([...secretsInUse(given, "client")]).toEqual(["my-etcd-server-tls"]);
});

test("purposesOf returns the Secrets that the providers of each side need", () => {
  const purposes = (tls: object) => purposesOf(unissued({}, tls).cluster);
  const peer = { provider: "Secret", secret: { name: "a" } };
  const client = { provider: "Secret", secret: { server: { name: "b" }, operator: { name: "c" } } };
  expect(purposes({})).toEqual(["peerCA", "peer", "clientCA", "server", "operator", "application"]);
  expect(purposes({ peer })).toEqual(["peer", "clientCA", "server", "operator", "application"]);
  expect(purposes({ client })).toEqual(["peerCA", "peer", "server", "operator"]);
  expect(purposes({ peer: { provider: "None" }, client })).toEqual(["server", "operator"]);
  expect(["peerCA", "peer", "clientCA", "application"].map((each) => sideOf(each as "peer"))).toEqual([
    "peer",
    "peer",
    "client",
    "client",
  ]);
  const mixed = secured({}, { client });
  expect([isIssuedHere(mixed, "peerCA"), isIssuedHere(mixed, "clientCA")]).toEqual([true, false]);
});

test("a certificate may have no extended key usage, or must have serverAuth and clientAuth", () => {
  const lack = (usages: readonly ("serverAuth" | "clientAuth")[]) => {
    const given = withMade(settled, { peer: { usages } });
    return contentProblem(given, "peer", seen(given, "peer")!);
  };
  expect(lack([])).toBeUndefined();
  expect(lack(["serverAuth"])).toContain("clients (clientAuth)");
  expect(lack(["clientAuth"])).toContain("servers (serverAuth)");
});

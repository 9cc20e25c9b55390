import { describe, expect, test } from "vitest";
import { revisionOf } from "#api/revision.ts";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { tlsStatus } from "#cluster-tls/check/tls-status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { secured, THEIRS, tlsSpec, withMade } from "#kit/snapshots/cluster-tls.ts";
import { turnedTo } from "#kit/snapshots/scheme-change.ts";
import { issuedBy } from "#kit/snapshots/tls-status.ts";
import { effectiveTls, withEffectiveTls } from "./effective.ts";

const NONE = { provider: "None" };
const SECRETS = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
  },
};
const ONE = {
  ...SECRETS,
  client: { provider: "Secret", secret: { server: { name: "both" }, operator: { name: "both" } } },
};
const certManager = { issuerRef: { name: "a" } };
const MANAGED = { peer: { provider: "CertManager", certManager }, client: { provider: "CertManager", certManager } };
const OWN_PAIRS = {
  peer: { provider: "Secret", secret: { name: "my-etcd-peer-tls" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "my-etcd-server-tls" }, operator: { name: "my-etcd-operator-tls" } },
  },
};

/** A cluster with this spec.tls after it had its requested TLS; its status records the Secrets. */
function edited(from: ClusterSnapshot, tls?: object, isRecorded = true): ClusterSnapshot {
  const { tls: _, ...spec } = from.cluster.spec;
  const status = { ...from.cluster.status, ...(isRecorded ? tlsStatus(from) : {}) };
  const asked = tls === undefined ? spec : { ...spec, tls: tlsSpec(tls) };
  return { ...from, cluster: { ...from.cluster, spec: asked, status } };
}

/** The status records the Secrets, and not their issuer. */
function unnamed(given: ClusterSnapshot): ClusterSnapshot {
  const status = issuedBy(given.cluster.status, {});
  return { ...given, cluster: { ...given.cluster, status } };
}

const brought = (tls: object) => secured({}, tls, { isOurs: false, by: THEIRS });
const issued = { peer: { provider: "Operator" }, client: { provider: "Operator", clientCertificates: "Required" } };
const verified = (side: object) => ({ ...side, clientCertificates: "Required" });

const cases: readonly { name: string; given: ClusterSnapshot; is: object }[] = [
  { name: "both sides of provider Operator", given: edited(secured()), is: issued },
  {
    name: "the peer side after its provider was set to None",
    given: edited(secured(), { peer: NONE }),
    is: { peer: issued.peer, client: { provider: "Operator" } },
  },
  {
    name: "the peer side when only that had TLS",
    given: edited(secured({}, { client: NONE })),
    is: { peer: issued.peer, client: NONE },
  },
  {
    name: "the value of clientCertificates",
    given: edited(secured({}, { client: { clientCertificates: "NotRequired" } })),
    is: { ...issued, client: { provider: "Operator", clientCertificates: "NotRequired" } },
  },
  {
    name: "user-provided Secrets",
    given: edited(brought(SECRETS)),
    is: { ...SECRETS, client: verified(SECRETS.client) },
  },
  {
    name: "one Secret for members and operator",
    given: edited(brought(ONE)),
    is: { ...ONE, client: verified(ONE.client) },
  },
  {
    name: "user-provided Secrets of the client side alone",
    given: edited(secured({}, { client: SECRETS.client })),
    is: { peer: { provider: "Operator" }, client: verified(SECRETS.client) },
  },
  {
    name: "Secrets that cert-manager fills",
    given: edited(brought(MANAGED)),
    is: { ...MANAGED, client: verified(MANAGED.client) },
  },
  {
    name: "the operator's own Secrets as user-provided ones when the status does not record the issuer",
    given: edited(secured(), undefined, false),
    is: { ...OWN_PAIRS, client: verified(OWN_PAIRS.client) },
  },
];

describe("when spec.tls is removed, the cluster keeps", () => {
  test.each(cases)("$name", ({ given, is }) =>
    expect(withEffectiveTls(given.cluster, given).spec.tls).toMatchObject(is),
  );

  test("provider Operator when a refused spec.tls names the operator's own Secrets as user-provided", () => {
    const given = edited(secured(), OWN_PAIRS);
    expect(withEffectiveTls(given.cluster, given).spec.tls).toMatchObject(issued);
    const one = edited(secured(), { ...SECRETS, client: OWN_PAIRS.client });
    expect(withEffectiveTls(one.cluster, one).spec.tls).toMatchObject({ peer: SECRETS.peer, client: issued.client });
    const before = edited(brought(OWN_PAIRS), OWN_PAIRS);
    expect(withEffectiveTls(before.cluster, before).spec.tls).toMatchObject(OWN_PAIRS);
  });

  test("minVersion and cipherSuites", () => {
    const given = edited(
      secured({}, { minVersion: "TLS1.2", cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] }),
    );
    expect(withEffectiveTls(given.cluster, given).spec.tls).toMatchObject({
      minVersion: "TLS1.2",
      cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"],
    });
    const half = edited(secured(), { peer: NONE, minVersion: "TLS1.3" });
    expect(withEffectiveTls(half.cluster, half).spec.tls).toMatchObject({ minVersion: "TLS1.3" });
  });

  test("the TLS that any member has", () => {
    const given = edited(secured({}, { minVersion: "TLS1.3" }));
    const [first, ...others] = given.peers;
    const { tls: _, ...spec } = first!.spec;
    const kept = withEffectiveTls(given.cluster, { ...given, peers: [{ ...first!, spec }, ...others] }).spec.tls;
    expect(kept).toMatchObject({ ...issued, minVersion: "TLS1.3" });
    const bare = given.peers.map((peer) => ({ ...peer, spec: { ...peer.spec, tls: { peer: peer.spec.tls!.peer! } } }));
    expect(Object.keys(withEffectiveTls(given.cluster, { peers: bare, pods: new Map() }).spec.tls!)).toEqual([
      "peer",
      "client",
    ]);
  });

  test("the Secret of a pod although its EtcdPeer has no TLS, because the operator connects with it", () => {
    const given = edited(secured(), { peer: NONE, client: NONE });
    const peers = given.peers.map(({ spec: { tls: _, ...spec }, ...peer }) => ({ ...peer, spec }));
    expect(withEffectiveTls(given.cluster, { ...given, peers }).spec.tls).toMatchObject({
      peer: { provider: "Operator" },
      client: { provider: "Operator" },
    });
    const others = edited(brought(SECRETS), { peer: NONE, client: NONE });
    const bare = others.peers.map(({ spec: { tls: _, ...spec }, ...peer }) => ({ ...peer, spec }));
    expect(withEffectiveTls(others.cluster, { ...others, peers: bare }).spec.tls).toMatchObject(SECRETS);
    const unrecorded = unnamed(others);
    const [, last] = [...others.pods];
    const one = { peers: bare, pods: new Map([last!]) };
    expect(withEffectiveTls(unrecorded.cluster, one).spec.tls).toMatchObject({ peer: SECRETS.peer });
    expect(withEffectiveTls(others.cluster, { peers: bare, pods: new Map() })).toBe(others.cluster);
  });

  describe("the previous template of a member", () => {
    const given = edited(secured(), { peer: NONE, client: NONE });
    const last = given.peers.at(-1)!;
    const turned = turnedTo({ ...given, pods: new Map() }, last.metadata.name, "nothing");
    const peers = turned.peers.filter(({ metadata }) => metadata.name === last.metadata.name);
    const revision = revisionOf(peers[0]!.spec);
    const stopped = { member: last.metadata.name, message: "it ends" };
    /** The retained TLS of a cluster with this status of its update. */
    const by = (update: Partial<UpdateStatus> | undefined) => {
      const { update: _, ...over } = turned.cluster.status!;
      const begun = {
        revision,
        from: "3.6.16",
        to: "3.6.16",
        updated: [],
        proven: false,
        startTime: "2026-01-01T11:00:00Z",
      };
      const status = update === undefined ? over : { ...over, update: { ...begun, ...update } };
      return withEffectiveTls({ ...turned.cluster, status }, { peers, pods: new Map() }).spec.tls;
    };

    test("is kept while a rollback to it is possible", () => {
      expect(peers[0]?.spec.tls).toBeUndefined();
      expect(peers[0]?.spec.previous?.tls).toBeDefined();
      for (const update of [{}, { stopped }, { proven: true, stopped }])
        expect(by(update)).toMatchObject({ peer: { provider: "Operator" }, client: { provider: "Operator" } });
    });

    test("is not kept once the update is over, proven or replaced by a new update", () => {
      for (const update of [undefined, { proven: true }, { revision: "another" }, { revision: "another", stopped }])
        expect(by(update)).toBe(turned.cluster.spec.tls);
    });
  });

  test("the additional names of the server certificate", () => {
    const given = secured({}, { client: { extraNames: ["etcd.example.com", "10.0.0.1"] } });
    expect(effectiveTls(edited(given)).cluster.spec.tls?.client.extraNames).toEqual(["etcd.example.com", "10.0.0.1"]);
    const other = begin(secured())
      .apply(edited, { peer: NONE })
      .apply(withMade, { server: { names: ["etcd.example.com"] } }).snapshot;
    expect(effectiveTls(other).cluster.spec.tls?.client).not.toHaveProperty("extraNames.0");
    const unread = { ...edited(given), certificates: undefined };
    expect(effectiveTls(unread).cluster.spec.tls?.client.extraNames).toEqual(["etcd.example.com", "10.0.0.1"]);
    const unrecorded = { ...edited(given, undefined, false), certificates: undefined };
    expect(effectiveTls(unrecorded).cluster.spec.tls?.client).not.toHaveProperty("extraNames");
  });
});

describe("without any members, the cluster keeps", () => {
  const plain = secured({}, { peer: NONE, client: NONE });
  function forming(tls: object | undefined, joined: number, more: object = { peerScheme: "https" }) {
    const { peerScheme: _, ...identity } = secured().cluster.status!.identity!;
    const initialMembers = identity.initialMembers.map((member, n) => ({ ...member, joined: n < joined }));
    const status = { ...plain.cluster.status, identity: { ...identity, ...more, initialMembers } };
    const { tls: __, ...spec } = plain.cluster.spec;
    return { ...plain.cluster, status, spec: { ...spec, ...(tls === undefined ? {} : { tls: tlsSpec(tls) }) } };
  }
  const none = { peers: [], pods: new Map() };

  test("peer TLS when its recorded peer URLs are https and it has not formed yet", () => {
    expect(withEffectiveTls(forming({ peer: NONE, client: NONE }, 1), none).spec.tls).toMatchObject({
      peer: { provider: "Operator" },
      client: NONE,
    });
  });

  test.each([
    { name: "once it has formed", given: forming({ peer: NONE }, 2) },
    { name: "with http peer URLs", given: forming({ peer: NONE }, 0, {}) },
    { name: "with a provider in spec.tls", given: forming({ peer: MANAGED.peer }, 0) },
    { name: "without spec.tls", given: forming(undefined, 0) },
  ])("the spec unchanged $name", ({ given }) => expect(withEffectiveTls(given, none)).toBe(given));
});

describe("without a recorded issuer, the cluster keeps by the Secrets in its status", () => {
  const told = [
    { name: "both sides of provider Operator", given: edited(secured()), is: issued },
    {
      name: "the peer side when only that had TLS",
      given: edited(secured({}, { client: NONE })),
      is: { peer: issued.peer, client: NONE },
    },
    {
      name: "user-provided Secrets",
      given: edited(brought(SECRETS)),
      is: { ...SECRETS, client: verified(SECRETS.client) },
    },
    {
      name: "one Secret for members and operator",
      given: edited(brought(ONE)),
      is: { ...ONE, client: verified(ONE.client) },
    },
    {
      name: "user-provided Secrets of the client side alone",
      given: edited(secured({}, { client: SECRETS.client })),
      is: { peer: { provider: "Operator" }, client: verified(SECRETS.client) },
    },
  ];
  test.each(told)("$name", ({ given, is }) => {
    const before = unnamed(given);
    expect(withEffectiveTls(before.cluster, before).spec.tls).toMatchObject(is);
  });

  test("the additional names of the server certificate", () => {
    const given = begin(secured({}, { client: { extraNames: ["etcd.example.com", "10.0.0.1"] } }))
      .apply(edited)
      .apply(unnamed).snapshot;
    expect(effectiveTls(given).cluster.spec.tls?.client.extraNames).toEqual(["etcd.example.com", "10.0.0.1"]);
  });
});

describe("spec.tls stays unchanged", () => {
  test.each([
    { name: "when TLS is requested", given: secured() },
    { name: "when members have no TLS", given: cluster() },
    { name: "before there are members", given: { ...edited(secured()), peers: [] } },
    { name: "when members are to get TLS", given: edited(cluster(), {}) },
  ])("$name", ({ given }) => {
    expect(withEffectiveTls(given.cluster, given)).toBe(given.cluster);
    expect(effectiveTls(given)).toBe(given);
  });
});

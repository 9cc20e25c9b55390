import { describe, expect, test } from "vitest";
import { revisionOf } from "#api/revision.ts";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import { keptTls, withKeptTls } from "#cluster/certificates/kept.ts";
import { certificateStatus } from "#cluster/conditions/tls-ready.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/cluster.ts";
import { turnedTo } from "#kit/cluster-switch.ts";
import { secured, THEIRS, tlsSpec, withMade } from "#kit/cluster-tls.ts";

const NONE = { provider: "None" };
const SECRETS = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
  },
};
const ONE = {
  ...SECRETS,
  client: { provider: "Secret", secret: { serverSecretName: "both", operatorClientSecretName: "both" } },
};
const certManager = { issuerRef: { name: "a" } };
const MANAGED = { peer: { provider: "CertManager", certManager }, client: { provider: "CertManager", certManager } };
const OWN_PAIRS = {
  peer: { provider: "Secret", secret: { secretName: "my-etcd-peer-tls" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "my-etcd-server-tls", operatorClientSecretName: "my-etcd-operator-tls" },
  },
};

/** This is asked for by now of a cluster that has what it asked for; its status knows of the Secrets. */
function edited(from: ClusterSnapshot, tls?: object, isRecorded = true): ClusterSnapshot {
  const { tls: _, ...spec } = from.cluster.spec;
  const status = { ...from.cluster.status, ...(isRecorded ? certificateStatus(from) : {}) };
  const asked = tls === undefined ? spec : { ...spec, tls: tlsSpec(tls) };
  return { ...from, cluster: { ...from.cluster, spec: asked, status } };
}

/** The status knows the Secrets, and does not tell who fills them. */
function unnamed(given: ClusterSnapshot): ClusterSnapshot {
  const { issuedBy: _, ...status } = given.cluster.status!;
  return { ...given, cluster: { ...given.cluster, status } };
}

const brought = (tls: object) => secured({}, tls, { isOurs: false, by: THEIRS });
const issued = { peer: { provider: "Operator" }, client: { provider: "Operator", verifyClients: true } };
const verified = (side: object) => ({ ...side, verifyClients: true });

const cases: readonly { name: string; given: ClusterSnapshot; is: object }[] = [
  { name: "both sides that the operator issues for", given: edited(secured()), is: issued },
  {
    name: "one of them",
    given: edited(secured(), { peer: NONE }),
    is: { peer: issued.peer, client: { provider: "Operator" } },
  },
  {
    name: "the only one there was",
    given: edited(secured({}, { client: NONE })),
    is: { peer: issued.peer, client: NONE },
  },
  {
    name: "whether clients are verified",
    given: edited(secured({}, { client: { verifyClients: false } })),
    is: { ...issued, client: { provider: "Operator", verifyClients: false } },
  },
  {
    name: "Secrets that people have brought",
    given: edited(brought(SECRETS)),
    is: { ...SECRETS, client: verified(SECRETS.client) },
  },
  {
    name: "one Secret for members and operator",
    given: edited(brought(ONE)),
    is: { ...ONE, client: verified(ONE.client) },
  },
  {
    name: "Secrets that people have brought for clients alone",
    given: edited(secured({}, { client: SECRETS.client })),
    is: { peer: { provider: "Operator" }, client: verified(SECRETS.client) },
  },
  {
    name: "Secrets that cert-manager fills",
    given: edited(brought(MANAGED)),
    is: { ...MANAGED, client: verified(MANAGED.client) },
  },
  {
    name: "the operator's own where no status tells who issues: they are read, and not written",
    given: edited(secured(), undefined, false),
    is: { ...OWN_PAIRS, client: verified(OWN_PAIRS.client) },
  },
];

describe("of TLS that is taken away from members there stays", () => {
  test.each(cases)("$name", ({ given, is }) => expect(withKeptTls(given.cluster, given).spec.tls).toMatchObject(is));

  test("where Secrets of the operator's own are called somebody else's, which is refused", () => {
    const given = edited(secured(), OWN_PAIRS);
    expect(withKeptTls(given.cluster, given).spec.tls).toMatchObject(issued);
    const one = edited(secured(), { ...SECRETS, client: OWN_PAIRS.client });
    expect(withKeptTls(one.cluster, one).spec.tls).toMatchObject({ peer: SECRETS.peer, client: issued.client });
    const before = edited(brought(OWN_PAIRS), OWN_PAIRS);
    expect(withKeptTls(before.cluster, before).spec.tls).toMatchObject(OWN_PAIRS);
  });

  test("which TLS it was", () => {
    const given = edited(
      secured({}, { minVersion: "TLS1.2", cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] }),
    );
    expect(withKeptTls(given.cluster, given).spec.tls).toMatchObject({
      minVersion: "TLS1.2",
      cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"],
    });
    const half = edited(secured(), { peer: NONE, minVersion: "TLS1.3" });
    expect(withKeptTls(half.cluster, half).spec.tls).toMatchObject({ minVersion: "TLS1.3" });
  });

  test("also where the first one has lost it; and no more than members have", () => {
    const given = edited(secured({}, { minVersion: "TLS1.3" }));
    const [first, ...others] = given.peers;
    const { tls: _, ...spec } = first!.spec;
    const kept = withKeptTls(given.cluster, { ...given, peers: [{ ...first!, spec }, ...others] }).spec.tls;
    expect(kept).toMatchObject({ ...issued, minVersion: "TLS1.3" });
    const bare = given.peers.map((peer) => ({ ...peer, spec: { ...peer.spec, tls: { peer: peer.spec.tls!.peer! } } }));
    expect(Object.keys(withKeptTls(given.cluster, { peers: bare, pods: new Map() }).spec.tls!)).toEqual([
      "peer",
      "client",
    ]);
  });

  test("what a pod still shows whose EtcdPeer has it no more: else nobody could ask the member until it restarts", () => {
    const given = edited(secured(), { peer: NONE, client: NONE });
    const peers = given.peers.map(({ spec: { tls: _, ...spec }, ...peer }) => ({ ...peer, spec }));
    expect(withKeptTls(given.cluster, { ...given, peers }).spec.tls).toMatchObject({
      peer: { provider: "Operator" },
      client: { provider: "Operator" },
    });
    const others = edited(brought(SECRETS), { peer: NONE, client: NONE });
    const bare = others.peers.map(({ spec: { tls: _, ...spec }, ...peer }) => ({ ...peer, spec }));
    expect(withKeptTls(others.cluster, { ...others, peers: bare }).spec.tls).toMatchObject(SECRETS);
    const unrecorded = unnamed(others);
    const [, last] = [...others.pods];
    const one = { peers: bare, pods: new Map([last!]) };
    expect(withKeptTls(unrecorded.cluster, one).spec.tls).toMatchObject({ peer: SECRETS.peer });
    expect(withKeptTls(others.cluster, { peers: bare, pods: new Map() })).toBe(others.cluster);
  });

  describe("what a member had before its turn", () => {
    const given = edited(secured(), { peer: NONE, client: NONE });
    const last = given.peers.at(-1)!;
    const turned = turnedTo({ ...given, pods: new Map() }, last.metadata.name, "nothing");
    const peers = turned.peers.filter(({ metadata }) => metadata.name === last.metadata.name);
    const revision = revisionOf(peers[0]!.spec);
    const stopped = { member: last.metadata.name, message: "it ends" };
    /** By the spec of a cluster whose update has come this far. */
    const by = (update: Partial<UpdateStatus> | undefined) => {
      const { update: _, ...over } = turned.cluster.status!;
      const begun = {
        revision,
        from: "3.6.16",
        to: "3.6.16",
        updated: [],
        proven: false,
        since: "2026-01-01T11:00:00Z",
      };
      const status = update === undefined ? over : { ...over, update: { ...begun, ...update } };
      return withKeptTls({ ...turned.cluster, status }, { peers, pods: new Map() }).spec.tls;
    };

    test("to which it may be put back, as long as nobody is well with what it got, or once it is stopped", () => {
      expect(peers[0]?.spec.tls).toBeUndefined();
      expect(peers[0]?.spec.previous?.tls).toBeDefined();
      for (const update of [{}, { stopped }, { proven: true, stopped }])
        expect(by(update)).toMatchObject({ peer: { provider: "Operator" }, client: { provider: "Operator" } });
    });

    test("but for what no update gives back: once it is over or well with it, and of the one before", () => {
      for (const update of [undefined, { proven: true }, { revision: "another" }, { revision: "another", stopped }])
        expect(by(update)).toBe(turned.cluster.spec.tls);
    });
  });

  test("the names by which some clients know members", () => {
    const given = secured({}, { client: { extraNames: ["etcd.example.com", "10.0.0.1"] } });
    expect(keptTls(edited(given)).cluster.spec.tls?.client.extraNames).toEqual(["etcd.example.com", "10.0.0.1"]);
    const other = withMade(edited(secured(), { peer: NONE }), { server: { names: ["etcd.example.com"] } });
    expect(keptTls(other).cluster.spec.tls?.client).not.toHaveProperty("extraNames.0");
    const unread = { ...edited(given), certificates: undefined };
    expect(keptTls(unread).cluster.spec.tls?.client.extraNames).toEqual(["etcd.example.com", "10.0.0.1"]);
    const unrecorded = { ...edited(given, undefined, false), certificates: undefined };
    expect(keptTls(unrecorded).cluster.spec.tls?.client).not.toHaveProperty("extraNames");
  });
});

describe("of a cluster that has not formed there stays", () => {
  const plain = secured({}, { peer: NONE, client: NONE });
  function forming(tls: object | undefined, joined: number, more: object = { peerScheme: "https" }) {
    const { peerScheme: _, ...identity } = secured().cluster.status!.identity!;
    const initialMembers = identity.initialMembers.map((member, n) => ({ ...member, joined: n < joined }));
    const status = { ...plain.cluster.status, identity: { ...identity, ...more, initialMembers } };
    const { tls: __, ...spec } = plain.cluster.spec;
    return { ...plain.cluster, status, spec: { ...spec, ...(tls === undefined ? {} : { tls: tlsSpec(tls) }) } };
  }
  const none = { peers: [], pods: new Map() };

  test("TLS between members, by whose URLs they are known", () => {
    expect(withKeptTls(forming({ peer: NONE, client: NONE }, 1), none).spec.tls).toMatchObject({
      peer: { provider: "Operator" },
      client: NONE,
    });
  });

  test.each([
    { name: "once it has formed", given: forming({ peer: NONE }, 2) },
    { name: "where they are known by http", given: forming({ peer: NONE }, 0, {}) },
    { name: "where somebody is to issue", given: forming({ peer: MANAGED.peer }, 0) },
    { name: "where nothing is said of TLS", given: forming(undefined, 0) },
  ])("and nothing else: $name", ({ given }) => expect(withKeptTls(given, none)).toBe(given));
});

describe("by the Secrets that the status knows there stays", () => {
  const told = [
    { name: "both sides that the operator issues for", given: edited(secured()), is: issued },
    { name: "the only one", given: edited(secured({}, { client: NONE })), is: { peer: issued.peer, client: NONE } },
    {
      name: "Secrets that people have brought",
      given: edited(brought(SECRETS)),
      is: { ...SECRETS, client: verified(SECRETS.client) },
    },
    {
      name: "one Secret for members and operator",
      given: edited(brought(ONE)),
      is: { ...ONE, client: verified(ONE.client) },
    },
    {
      name: "Secrets that people have brought for clients alone",
      given: edited(secured({}, { client: SECRETS.client })),
      is: { peer: { provider: "Operator" }, client: verified(SECRETS.client) },
    },
  ];
  test.each(told)("$name", ({ given, is }) => {
    const before = unnamed(given);
    expect(withKeptTls(before.cluster, before).spec.tls).toMatchObject(is);
  });

  test("the names by which some clients know members", () => {
    const given = unnamed(edited(secured({}, { client: { extraNames: ["etcd.example.com", "10.0.0.1"] } })));
    expect(keptTls(given).cluster.spec.tls?.client.extraNames).toEqual(["etcd.example.com", "10.0.0.1"]);
  });
});

describe("nothing is changed", () => {
  test.each([
    { name: "of what is asked for", given: secured() },
    { name: "of who has no TLS", given: cluster() },
    { name: "as long as nobody is there", given: { ...edited(secured()), peers: [] } },
    { name: "of who is to get it", given: edited(cluster(), {}) },
  ])("$name", ({ given }) => {
    expect(withKeptTls(given.cluster, given)).toBe(given.cluster);
    expect(keptTls(given)).toBe(given);
  });
});

import { describe, expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import {
  betweenName,
  formerTls,
  issuedTls,
  lookedAt,
  shownIn,
  showsAsked,
  tlsInUse,
  withFormerTls,
} from "#cluster/certificates/former.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/cluster.ts";
import { LOCKED, withAuth } from "#kit/cluster-auth.ts";
import { certified } from "#kit/cluster-steps.ts";
import { switching, WITHOUT } from "#kit/cluster-switch.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  running,
  secured,
  THEIRS,
  tlsSpec,
  withMade,
  withSeen,
} from "#kit/cluster-tls.ts";
import { clientsOf, lastTurns, leaving, notAsking, shows, turnedClients, turnedTrusting } from "#kit/cluster-turn.ts";

// From where that comes which members show by now, while something else is asked for.

const PEER = { provider: "Secret", secret: { secretName: "their-peer" } };
const CLIENT = {
  provider: "Secret",
  secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
};
const OWN_SIDE = { provider: "Operator" };
const NOTHING = { provider: "None" };

/** What stands on record of it. */
function recorded(snapshot: ClusterSnapshot, issuedBy: object | undefined): ClusterSnapshot {
  const { issuedBy: _, ...status } = snapshot.cluster.status!;
  const known = issuedBy === undefined ? status : { ...status, issuedBy };
  return { ...snapshot, cluster: { ...snapshot.cluster, status: known as typeof status } };
}

function asking(snapshot: ClusterSnapshot, tls: object): ClusterSnapshot {
  const spec = { ...snapshot.cluster.spec, tls: tlsSpec(tls) };
  return { ...snapshot, cluster: { ...snapshot.cluster, spec } };
}

function former(snapshot: ClusterSnapshot) {
  const tls = withFormerTls(snapshot.cluster, snapshot)?.spec.tls;
  return tls && { peer: tls.peer, client: tls.client };
}

const both = recorded(certified, { peer: OWN_SIDE, client: OWN_SIDE });

const THIRD = { provider: "Secret", secret: { secretName: "third-peer" } };
/** Two members show what was in use, and one what was asked for in between. */
const third = asking(lastTurns, { peer: THIRD });

describe("what was asked for in between and some show", () => {
  const name = (given: ClusterSnapshot, side: "peer" | "client" = "peer") => betweenName(given.cluster, given, side);

  test("is neither asked for nor on record", () => {
    expect(name(third)).toBe("their-peer");
    expect(name(third, "client")).toBeUndefined();
    expect(name(lastTurns)).toBeUndefined();
    expect(name(certified)).toBeUndefined();
    expect(name(running(third, undefined, shows("my-etcd-peer-tls", "")))).toBeUndefined();
    expect(name(running(third, undefined, shows("third-peer", "")))).toBeUndefined();
  });

  test("is looked at by its name, and nothing else is", () => {
    const peer = present(made(leaving, "peer", { by: THEIRS, isOurs: false }));
    const given = { ...third, certificates: { ...third.certificates, between: { peer } } };
    expect(lookedAt(given, "peer", "their-peer")).toBe(peer);
    expect(lookedAt(given, "peer", "other")).toBeUndefined();
    expect(lookedAt(third, "peer", "their-peer")).toBeUndefined();
    expect(lookedAt({ ...third, certificates: undefined }, "peer", "their-peer")).toBeUndefined();
    expect(shownIn(given, "peer", "their-peer")).toBe(peer.is === "present" ? peer.value : undefined);
  });
});

const sides: { name: string; given: ClusterSnapshot; is: object | undefined }[] = [
  { name: "nobody asks for TLS", given: cluster(), is: undefined },
  { name: "what is asked for is in use", given: certified, is: undefined },
  { name: "that stands on record as well", given: both, is: undefined },
  {
    name: "members are to show something else to each other",
    given: leaving,
    is: { peer: OWN_SIDE, client: { ...NOTHING, verifyClients: true } },
  },
  {
    name: "members are to show something else to clients",
    given: turnedClients,
    is: { peer: NOTHING, client: { ...OWN_SIDE, verifyClients: true } },
  },
  {
    name: "whether clients show something is asked as it is by now",
    given: notAsking(turnedClients),
    is: { peer: NOTHING, client: { ...OWN_SIDE, verifyClients: false } },
  },
  { name: "one side is to have none any more", given: asking(both, { peer: NOTHING }), is: undefined },
  { name: "certificates are to last longer", given: asking(both, { peer: { duration: "48h" } }), is: undefined },
  {
    name: "another Secret is for the operator alone",
    given: asking(recorded(certified, { client: CLIENT }), {
      client: { ...CLIENT, secret: { ...CLIENT.secret, operatorClientSecretName: "another" } },
    }),
    is: { peer: NOTHING, client: { ...CLIENT, verifyClients: true } },
  },
  {
    name: "another Secret is for members alone",
    given: asking(recorded(certified, { client: CLIENT }), {
      client: { ...CLIENT, secret: { ...CLIENT.secret, serverSecretName: "another" } },
    }),
    is: { peer: NOTHING, client: { ...CLIENT, verifyClients: true } },
  },
  {
    name: "nothing stands on record, and members show another Secret",
    given: recorded(leaving, undefined),
    is: {
      peer: { provider: "Secret", secret: { secretName: "my-etcd-peer-tls" } },
      client: { ...NOTHING, verifyClients: true },
    },
  },
  {
    name: "nothing stands on record, and nobody shows anything",
    given: recorded(asking(cluster(), { peer: PEER }), undefined),
    is: undefined,
  },
  {
    name: "nothing stands on record, and one member alone shows another Secret",
    given: recorded(running(certified, ["my-etcd-2"], shows("their-peer", bundle(THEIRS))), undefined),
    is: { peer: PEER, client: { ...NOTHING, verifyClients: true } },
  },
  {
    name: "nothing stands on record, and others show nothing",
    given: recorded(
      running(switching({}, ["nothing", "nothing", "all"]), ["my-etcd-2"], {
        peer: { secretName: "their-peer", trust: bundle(THEIRS) },
      }),
      undefined,
    ),
    is: { peer: PEER, client: { ...NOTHING, verifyClients: true } },
  },
];

describe("what is in use, and not what is asked for: when", () => {
  test.each(sides)("$name", ({ given, is }) => {
    expect(former(given)).toEqual(is);
  });

  test("all else is as it is asked for", () => {
    const { cluster: is } = formerTls(leaving)!;
    expect({ ...is, spec: { ...is.spec, tls: undefined } }).toEqual({
      ...leaving.cluster,
      spec: { ...leaving.cluster.spec, tls: undefined },
    });
    expect(is.spec.tls?.minVersion).toBe("TLS1.2");
  });

  test("it is looked after by what was seen of it, and of what there is only once", () => {
    const trustMap = unknown("no answer");
    const given = { ...leaving, certificates: { ...leaving.certificates, trustMap, handout: absent } };
    expect(formerTls(given)?.certificates).toEqual({ ...leaving.certificates?.former, trustMap, handout: absent });
    const { trustMap: _, ...rest } = leaving.certificates ?? {};
    const bare = formerTls({ ...leaving, certificates: rest })?.certificates;
    expect([bare && "trustMap" in bare, bare && "handout" in bare]).toEqual([false, false]);
    expect(formerTls({ ...leaving, certificates: undefined })?.certificates).toEqual({});
    expect(formerTls(certified)).toBeUndefined();
  });
});

test("what the operator issues of a side is what is asked for, else what is in use", () => {
  expect(issuedTls(leaving, "peer")).toBe(formerTls(leaving));
  expect(issuedTls(leaving, "client")).toBe(leaving);
  expect(issuedTls(certified, "peer")).toBe(certified);
  const back = goingTo(secured({}, { peer: PEER }), {});
  expect(formerTls(back)).toBeDefined();
  expect(issuedTls(back, "peer")).toBe(back);
  const elsewhere = asking(recorded(certified, { peer: { ...PEER, secret: { secretName: "a" } } }), { peer: PEER });
  expect(formerTls(elsewhere)).toBeDefined();
  expect(issuedTls(elsewhere, "peer")).toBe(elsewhere);
});

test("a Secret is looked up by its name, among what is asked for and what is in use", () => {
  const { certificates } = leaving;
  expect(lookedAt(leaving, "peer", "their-peer")).toBe(certificates?.peer);
  expect(lookedAt(leaving, "peer", "my-etcd-peer-tls")).toBe(certificates?.former?.peer);
  expect(lookedAt(leaving, "peer", "another")).toBeUndefined();
  expect(lookedAt(certified, "client", "my-etcd-server-tls")).toBe(certified.certificates?.server);
  expect(shownIn(leaving, "peer", "their-peer")?.signerId).toBe(THEIRS.id);
  expect(shownIn(withSeen(leaving, { peer: absent }), "peer", "their-peer")).toBeUndefined();
});

/** All members show what people have brought to clients; whom they trust is said. */
const shown = (trust: string) => running(turnedClients, undefined, clientsOf("their-server", trust));
const arrived = shown(bundle(THEIRS));

/** etcd asks for users, and by what people have brought the operator is another one. */
function asUser(snapshot: ClusterSnapshot, state: AuthState): ClusterSnapshot {
  const brought = withMade(snapshot, { operator: { by: THEIRS, isOurs: false, commonName: "ops" } });
  return withAuth(brought, { state, next: "ops" });
}

const records: { name: string; given: ClusterSnapshot; peer?: object; client?: object }[] = [
  { name: "without TLS", given: cluster() },
  { name: "of what is asked for and in use", given: certified, peer: OWN_SIDE, client: OWN_SIDE },
  {
    name: "of what nobody shows yet",
    given: { ...certified, peers: [], pods: new Map() },
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "of what has been there while something else is asked for",
    given: leaving,
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "while one member still shows it",
    given: running(turnedTrusting, ["my-etcd-0", "my-etcd-1"], shows("their-peer", bundle(THEIRS))),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "of the new one once all members show it",
    given: running(lastTurns, undefined, shows("their-peer", bundle(THEIRS))),
    peer: PEER,
    client: OWN_SIDE,
  },
  {
    name: "of the new one whatever is missing towards clients",
    given: withSeen(running(lastTurns, undefined, shows("their-peer", bundle(THEIRS))), { operator: absent }),
    peer: PEER,
    client: OWN_SIDE,
  },
  {
    name: "of what is asked for and in use, whatever is missing",
    given: withSeen(certified, { operator: absent }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "of the new one at once where nobody shows the former one",
    given: withSeen(recorded(switching({}, ["nothing", "nothing", "nothing"]), { client: CLIENT }), {
      operator: absent,
    }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  { name: "of the new one for clients, too", given: arrived, peer: OWN_SIDE, client: CLIENT },
  {
    name: "of the new one not while some member would not let the operator in",
    given: withMade(arrived, { operator: { by: NEXT, isOurs: false } }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "of the new one where members let everybody in",
    given: withMade(notAsking(arrived), { operator: { by: NEXT, isOurs: false } }),
    peer: OWN_SIDE,
    client: CLIENT,
  },
  {
    name: "of the new one not while nobody knows what the operator is to show",
    given: withSeen(arrived, { operator: absent }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "of the new one not while etcd would not know the operator by it",
    given: asUser(arrived, { ...LOCKED, next: undefined }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "of the new one once etcd would",
    given: asUser(arrived, { ...LOCKED, next: ["root"] }),
    peer: OWN_SIDE,
    client: CLIENT,
  },
  {
    name: "of the new one not while the time of that has ended",
    given: withMade(arrived, { operator: { by: THEIRS, isOurs: false, lastsMs: 0 } }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "of what members have while nothing is asked for",
    given: recorded(switching(WITHOUT, ["all", "all", "all"]), { peer: PEER, client: CLIENT }),
    peer: PEER,
    client: CLIENT,
  },
  {
    name: "of nothing once they have nothing",
    given: recorded(switching(WITHOUT, ["nothing", "nothing", "nothing"]), { peer: PEER, client: CLIENT }),
  },
];

describe("what stands on record of it:", () => {
  test.each(records)("$name", ({ given, peer, client }) => {
    const issuedBy = { ...(peer && { peer }), ...(client && { client }) };
    expect(tlsInUse(given)).toEqual(peer === undefined && client === undefined ? {} : { issuedBy });
  });

  test("all that is asked for of one side", () => {
    const by = (tls: object) => tlsInUse(secured({}, tls)).issuedBy;
    const issuer = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
    expect(by({ peer: { duration: "48h", renewBefore: "2h" } })?.peer).toEqual({
      ...OWN_SIDE,
      duration: "48h",
      renewBefore: "2h",
    });
    expect(by({ client: { extraNames: ["etcd.example.com"] } })?.client).toEqual({
      ...OWN_SIDE,
      extraNames: ["etcd.example.com"],
    });
    expect(by({ peer: issuer })?.peer).toEqual({
      provider: "CertManager",
      certManager: { issuerRef: { name: "a", kind: "Issuer", group: "cert-manager.io" } },
    });
    expect(by({ peer: OWN_SIDE })?.peer).toStrictEqual(OWN_SIDE);
    expect(by({ client: { extraNames: [] } })?.client).toStrictEqual(OWN_SIDE);
  });
});

test("the operator shows what is asked for once that is on record as what is in use", () => {
  expect([certified, turnedClients].map(showsAsked)).toEqual([true, false]);
  expect(showsAsked(recorded(turnedClients, { client: CLIENT }))).toBe(true);
});

test("nothing is in between where what is on record is asked for again, whatever some members show", () => {
  const again = asking(lastTurns, {});
  expect(betweenName(again.cluster, again, "peer")).toBeUndefined();
});

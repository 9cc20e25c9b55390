import { describe, expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { LOCKED, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { certified } from "#kit/snapshots/cluster-steps.ts";
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
} from "#kit/snapshots/cluster-tls.ts";
import {
  clientsOf,
  lastTurns,
  leaving,
  notAsking,
  shows,
  turnedClients,
  turnedTrusting,
} from "#kit/snapshots/provider-change.ts";
import { switching, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import { issuedBy } from "#kit/snapshots/tls-status.ts";
import {
  abandonedName,
  certificateIn,
  issuedTls,
  observedSecret,
  previousTls,
  sourcesInUse,
  usesRequestedCertificate,
  withPreviousTls,
} from "./previous.ts";

// The source of certificates in use during a provider change.

const PEER = { provider: "Secret", secret: { name: "their-peer" } };
const CLIENT = {
  provider: "Secret",
  secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
};
const OWN_SIDE = { provider: "Operator" };
const NOTHING = { provider: "None" };

/** The sources in its status. */
function recorded(snapshot: ClusterSnapshot, sources: object | undefined): ClusterSnapshot {
  const status = issuedBy(snapshot.cluster.status, sources ?? {});
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

function asking(snapshot: ClusterSnapshot, tls: object): ClusterSnapshot {
  const spec = { ...snapshot.cluster.spec, tls: tlsSpec(tls) };
  return { ...snapshot, cluster: { ...snapshot.cluster, spec } };
}

function previous(snapshot: ClusterSnapshot) {
  const tls = withPreviousTls(snapshot.cluster, snapshot)?.spec.tls;
  return tls && { peer: tls.peer, client: tls.client };
}

const both = recorded(certified, { peer: OWN_SIDE, client: OWN_SIDE });

const THIRD = { provider: "Secret", secret: { name: "third-peer" } };
/** Two members use the Secret in use, and one that of an abandoned change. */
const third = asking(lastTurns, { peer: THIRD });

describe("a Secret that members use from an abandoned change", () => {
  const name = (given: ClusterSnapshot, side: "peer" | "client" = "peer") => abandonedName(given.cluster, given, side);

  test("is neither requested nor recorded as in use", () => {
    expect(name(third)).toBe("their-peer");
    expect(name(third, "client")).toBeUndefined();
    expect(name(lastTurns)).toBeUndefined();
    expect(name(certified)).toBeUndefined();
    expect(name(running(third, undefined, shows("my-etcd-peer-tls", "")))).toBeUndefined();
    expect(name(running(third, undefined, shows("third-peer", "")))).toBeUndefined();
  });

  test("is found by its name only", () => {
    const peer = present(made(leaving, "peer", { by: THEIRS, isOurs: false }));
    const given = { ...third, certificates: { ...third.certificates, abandoned: { peer } } };
    expect(observedSecret(given, "peer", "their-peer")).toBe(peer);
    expect(observedSecret(given, "peer", "other")).toBeUndefined();
    expect(observedSecret(third, "peer", "their-peer")).toBeUndefined();
    expect(observedSecret({ ...third, certificates: undefined }, "peer", "their-peer")).toBeUndefined();
    expect(certificateIn(given, "peer", "their-peer")).toBe(peer.is === "present" ? peer.value : undefined);
  });
});

const sides: { name: string; given: ClusterSnapshot; is: object | undefined }[] = [
  { name: "does not exist when TLS is not requested", given: cluster(), is: undefined },
  { name: "does not exist when the requested TLS is in use", given: certified, is: undefined },
  { name: "does not exist when the requested TLS is recorded as in use", given: both, is: undefined },
  {
    name: "has the previous peer Secret when the spec names a different one",
    given: leaving,
    is: { peer: OWN_SIDE, client: { ...NOTHING, clientCertificates: "Required" } },
  },
  {
    name: "has the previous server Secret when the spec names a different one",
    given: turnedClients,
    is: { peer: NOTHING, client: { ...OWN_SIDE, clientCertificates: "Required" } },
  },
  {
    name: "has the requested clientCertificates",
    given: notAsking(turnedClients),
    is: { peer: NOTHING, client: { ...OWN_SIDE, clientCertificates: "NotRequired" } },
  },
  { name: "does not exist when one side is turned off", given: asking(both, { peer: NOTHING }), is: undefined },
  {
    name: "does not exist when only the certificate duration changes",
    given: asking(both, { peer: { duration: "48h" } }),
    is: undefined,
  },
  {
    name: "has the previous client side when only the operator's Secret has a new name",
    given: begin(certified)
      .apply(recorded, { client: CLIENT })
      .apply(asking, {
        client: { ...CLIENT, secret: { ...CLIENT.secret, operator: { name: "another" } } },
      }).snapshot,
    is: { peer: NOTHING, client: { ...CLIENT, clientCertificates: "Required" } },
  },
  {
    name: "has the previous client side when only the server Secret has a new name",
    given: begin(certified)
      .apply(recorded, { client: CLIENT })
      .apply(asking, {
        client: { ...CLIENT, secret: { ...CLIENT.secret, server: { name: "another" } } },
      }).snapshot,
    is: { peer: NOTHING, client: { ...CLIENT, clientCertificates: "Required" } },
  },
  {
    name: "has the Secret that members use when nothing is recorded",
    given: recorded(leaving, undefined),
    is: {
      peer: { provider: "Secret", secret: { name: "my-etcd-peer-tls" } },
      client: { ...NOTHING, clientCertificates: "Required" },
    },
  },
  {
    name: "does not exist when nothing is recorded and members have no TLS",
    given: begin(cluster()).apply(asking, { peer: PEER }).apply(recorded, undefined).snapshot,
    is: undefined,
  },
  {
    name: "has the other Secret that one member uses when nothing is recorded",
    given: begin(certified)
      .apply(running, ["my-etcd-2"], shows("their-peer", bundle(THEIRS)))
      .apply(recorded, undefined).snapshot,
    is: { peer: PEER, client: { ...NOTHING, clientCertificates: "Required" } },
  },
  {
    name: "has the Secret that one member uses when nothing is recorded and other members have no TLS",
    given: begin(switching({}, ["nothing", "nothing", "all"]))
      .apply(running, ["my-etcd-2"], {
        peer: { secretName: "their-peer", trust: bundle(THEIRS) },
      })
      .apply(recorded, undefined).snapshot,
    is: { peer: PEER, client: { ...NOTHING, clientCertificates: "Required" } },
  },
];

describe("the previous TLS in use", () => {
  test.each(sides)("$name", ({ given, is }) => {
    expect(previous(given)).toEqual(is);
  });

  test("has the requested values in all other fields", () => {
    const { cluster: is } = previousTls(leaving)!;
    expect({ ...is, spec: { ...is.spec, tls: undefined } }).toEqual({
      ...leaving.cluster,
      spec: { ...leaving.cluster.spec, tls: undefined },
    });
    expect(is.spec.tls?.minVersion).toBe("TLS1.2");
  });

  test("has its own observed Secrets, and shares the ConfigMap and the client Secret", () => {
    const trustMap = unknown("no answer");
    const given = { ...leaving, certificates: { ...leaving.certificates, trustMap, clientSecret: absent } };
    expect(previousTls(given)?.certificates).toEqual({
      ...leaving.certificates?.previous,
      trustMap,
      clientSecret: absent,
    });
    const { trustMap: _, ...rest } = leaving.certificates ?? {};
    const bare = previousTls({ ...leaving, certificates: rest })?.certificates;
    expect([bare && "trustMap" in bare, bare && "clientSecret" in bare]).toEqual([false, false]);
    expect(previousTls({ ...leaving, certificates: undefined })?.certificates).toEqual({});
    expect(previousTls(certified)).toBeUndefined();
  });
});

test("the operator issues for the requested provider Operator, or else for the one in use", () => {
  expect(issuedTls(leaving, "peer")).toBe(previousTls(leaving));
  expect(issuedTls(leaving, "client")).toBe(leaving);
  expect(issuedTls(certified, "peer")).toBe(certified);
  const back = goingTo(secured({}, { peer: PEER }), {});
  expect(previousTls(back)).toBeDefined();
  expect(issuedTls(back, "peer")).toBe(back);
  const elsewhere = begin(certified)
    .apply(recorded, { peer: { ...PEER, secret: { name: "a" } } })
    .apply(asking, { peer: PEER }).snapshot;
  expect(previousTls(elsewhere)).toBeDefined();
  expect(issuedTls(elsewhere, "peer")).toBe(elsewhere);
});

test("a Secret is found by its name among the requested ones and those in use", () => {
  const { certificates } = leaving;
  expect(observedSecret(leaving, "peer", "their-peer")).toBe(certificates?.peer);
  expect(observedSecret(leaving, "peer", "my-etcd-peer-tls")).toBe(certificates?.previous?.peer);
  expect(observedSecret(leaving, "peer", "another")).toBeUndefined();
  expect(observedSecret(certified, "client", "my-etcd-server-tls")).toBe(certified.certificates?.server);
  expect(certificateIn(leaving, "peer", "their-peer")?.signerId).toBe(THEIRS.id);
  expect(certificateIn(withSeen(leaving, { peer: absent }), "peer", "their-peer")).toBeUndefined();
});

/** All members use the user-provided server Secret, with this trust. */
const shown = (trust: string) => running(turnedClients, undefined, clientsOf("their-server", trust));
const arrived = shown(bundle(THEIRS));

/** etcd has authentication enabled, and the user-provided certificate has another common name. */
function asUser(snapshot: ClusterSnapshot, state: AuthState): ClusterSnapshot {
  const brought = withMade(snapshot, { operator: { by: THEIRS, isOurs: false, commonName: "ops" } });
  return withAuth(brought, { state, next: "ops" });
}

const records: { name: string; given: ClusterSnapshot; peer?: object; client?: object }[] = [
  { name: "nothing without TLS", given: cluster() },
  { name: "the requested source when it is in use", given: certified, peer: OWN_SIDE, client: OWN_SIDE },
  {
    name: "the requested source before any member uses it",
    given: { ...certified, peers: [], pods: new Map() },
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the previous source during a change",
    given: leaving,
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the previous source while one member uses it",
    given: running(turnedTrusting, ["my-etcd-0", "my-etcd-1"], shows("their-peer", bundle(THEIRS))),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the new source once all members use it",
    given: running(lastTurns, undefined, shows("their-peer", bundle(THEIRS))),
    peer: PEER,
    client: OWN_SIDE,
  },
  {
    name: "the new peer source while the operator's client Secret is missing",
    given: begin(lastTurns)
      .apply(running, undefined, shows("their-peer", bundle(THEIRS)))
      .apply(withSeen, { operator: absent }).snapshot,
    peer: PEER,
    client: OWN_SIDE,
  },
  {
    name: "the requested source in use while the operator's Secret is missing",
    given: withSeen(certified, { operator: absent }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the new source at once when no member uses the previous one",
    given: begin(switching({}, ["nothing", "nothing", "nothing"]))
      .apply(recorded, { client: CLIENT })
      .apply(withSeen, {
        operator: absent,
      }).snapshot,
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  { name: "the new client source once all members use it", given: arrived, peer: OWN_SIDE, client: CLIENT },
  {
    name: "the previous source while some member would reject the operator",
    given: withMade(arrived, { operator: { by: NEXT, isOurs: false } }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the new source when members require no client certificates",
    given: begin(arrived)
      .apply(notAsking)
      .apply(withMade, { operator: { by: NEXT, isOurs: false } }).snapshot,
    peer: OWN_SIDE,
    client: CLIENT,
  },
  {
    name: "the previous source while the operator's Secret is missing",
    given: withSeen(arrived, { operator: absent }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the previous source while etcd would not accept the operator's name",
    given: asUser(arrived, { ...LOCKED, next: undefined }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the new source once etcd accepts the name",
    given: asUser(arrived, { ...LOCKED, next: ["root"] }),
    peer: OWN_SIDE,
    client: CLIENT,
  },
  {
    name: "the previous source while the operator's certificate is expired",
    given: withMade(arrived, { operator: { by: THEIRS, isOurs: false, lastsMs: 0 } }),
    peer: OWN_SIDE,
    client: OWN_SIDE,
  },
  {
    name: "the source that members use while TLS is turned off",
    given: recorded(switching(WITHOUT, ["all", "all", "all"]), { peer: PEER, client: CLIENT }),
    peer: PEER,
    client: CLIENT,
  },
  {
    name: "nothing once members have no TLS",
    given: recorded(switching(WITHOUT, ["nothing", "nothing", "nothing"]), { peer: PEER, client: CLIENT }),
  },
];

describe("status.tls records as the source", () => {
  test.each(records)("$name", ({ given, peer, client }) => {
    expect(sourcesInUse(given)).toEqual({ ...(peer && { peer }), ...(client && { client }) });
  });

  test("all requested fields of a side", () => {
    const by = (tls: object) => sourcesInUse(secured({}, tls));
    const issuer = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
    expect(by({ peer: { duration: "48h", renewBefore: "2h" } }).peer).toEqual({
      ...OWN_SIDE,
      duration: "48h",
      renewBefore: "2h",
    });
    expect(by({ client: { extraNames: ["etcd.example.com"] } }).client).toEqual({
      ...OWN_SIDE,
      extraNames: ["etcd.example.com"],
    });
    expect(by({ peer: issuer }).peer).toEqual({
      provider: "CertManager",
      certManager: { issuerRef: { name: "a", kind: "Issuer", group: "cert-manager.io" } },
    });
    expect(by({ peer: OWN_SIDE }).peer).toStrictEqual(OWN_SIDE);
    expect(by({ client: { extraNames: [] } }).client).toStrictEqual(OWN_SIDE);
  });
});

test("the operator uses the requested Secret once the status records it as in use", () => {
  expect([certified, turnedClients].map(usesRequestedCertificate)).toEqual([true, false]);
  expect(usesRequestedCertificate(recorded(turnedClients, { client: CLIENT }))).toBe(true);
});

test("there is no abandoned Secret when the recorded TLS is requested again", () => {
  const again = asking(lastTurns, {});
  expect(abandonedName(again.cluster, again, "peer")).toBeUndefined();
});

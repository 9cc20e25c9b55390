import { describe, expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { born, cluster } from "#kit/snapshots/cluster.ts";
import { guarded, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { certified, tlsOfAll } from "#kit/snapshots/cluster-steps.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  running,
  THEIRS,
  unissued,
  withMade,
  withSeen,
} from "#kit/snapshots/cluster-tls.ts";
import {
  BROUGHT,
  back,
  clientsOf,
  clientsTrusting,
  issuer,
  LONG,
  lastTurns,
  leaving,
  managed,
  notAsking,
  ofBoth,
  ofThree,
  ofTwo,
  over,
  seenToo,
  shown,
  shows,
  telling,
  theirs,
  told,
  turnedClients,
  turnedTrusting,
  withHandout,
} from "#kit/snapshots/provider-change.ts";
import { switching, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";
import type { ConfigMap } from "#kube/kinds.ts";
import { hasBegun, isUnread, providerChanges } from "./provider-change.ts";

// Rounds of a provider change, for single observations. Whole changes are in provider-change.test.ts.

/** Applications reread their files once an hour; the ConfigMap has had its content for long. */
function hourly(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...seenToo(snapshot, { trustMapForMs: 3_700_000 }), rereadWithinMs: 3_700_000 };
}

const map = trustMap(told, bundle(OWN));
/** A ConfigMap with the expected name that belongs to another owner. */
const theirMap = present({
  ...born<ConfigMap>(map),
  metadata: { ...born<ConfigMap>(map).metadata, ownerReferences: [] },
});

const applications = { by: THEIRS, signerForMs: LONG };

const clients: { name: string; snapshot: ClusterSnapshot; at: string; why?: string }[] = [
  { name: "the requested Secret is in use", snapshot: certified, at: "no change" },
  { name: "members have no TLS yet", snapshot: unissued({ stage: "recorded" }), at: "no change" },
  {
    name: "members do not use the existing Secret yet",
    snapshot: withMade(unissued({ stage: "recorded" }), { server: {} }),
    at: "no change",
  },
  { name: "TLS is not requested any more", snapshot: switching(WITHOUT, ["all", "all", "all"]), at: "no change" },
  { name: "the Secret in use was not read", snapshot: withSeen(certified, { server: unknown("no") }), at: "no change" },
  {
    name: "the requested Secret is missing",
    snapshot: goingTo(certified, { client: BROUGHT }),
    at: "Prepare",
    why: "Secret foo/their-server, the server certificate of members, is missing",
  },
  {
    name: "the operator's requested Secret is missing",
    snapshot: withSeen(turnedClients, { operator: absent }),
    at: "Prepare",
    why: "Secret foo/their-operator",
  },
  {
    name: "the requested certificate has expired",
    snapshot: withMade(turnedClients, { server: { ...theirs, lastsMs: -1 } }),
    at: "Prepare",
    why: "has expired",
  },
  {
    name: "only the application's requested Secret is missing",
    snapshot: begin(certified).apply(goingTo, { client: issuer }).apply(withMade, { server: theirs, operator: theirs })
      .snapshot,
    at: "AcceptBoth",
  },
  {
    name: "members would reject the operator",
    snapshot: withMade(turnedClients, { operator: { ...theirs, by: NEXT, trust: bundle(NEXT, THEIRS) } }),
    at: "Prepare",
    why: "so members would reject the operator",
  },
  {
    name: "members would reject the operator but require no client certificate",
    snapshot: begin(turnedClients)
      .apply(notAsking)
      .apply(withMade, { operator: { ...theirs, by: NEXT, trust: bundle(NEXT, THEIRS) } }).snapshot,
    at: "AcceptBoth",
  },
  {
    name: "the operator would reject members",
    snapshot: withMade(turnedClients, {
      server: { ...theirs, trust: bundle(THEIRS, NEXT) },
      operator: { ...theirs, by: NEXT },
    }),
    at: "Prepare",
    why: "so the operator would reject members",
  },
  {
    name: "etcd has authentication enabled and the operator's next common name is no administrator",
    snapshot: begin(turnedClients)
      .apply(withMade, { operator: { ...theirs, commonName: "ops" } })
      .apply(withAuth, { next: "ops" }).snapshot,
    at: "Prepare",
    why: "has the common name ops; that user does not have the role root in etcd yet",
  },
  {
    name: "no member trusts both CAs yet",
    snapshot: turnedClients,
    at: "AcceptBoth",
    why: "my-etcd-0, my-etcd-1, my-etcd-2 do not trust the new CA yet",
  },
  {
    name: "one member does not trust both CAs yet",
    snapshot: running(turnedClients, ["my-etcd-0", "my-etcd-1"], clientsOf("my-etcd-server-tls", ofBoth)),
    at: "AcceptBoth",
    why: "my-etcd-2 does not trust the new CA yet",
  },
  {
    name: "clients did not get both CAs yet",
    snapshot: clientsTrusting,
    at: "AcceptBoth, members done",
    why: "ConfigMap my-etcd-ca has to list the new CA in ca.crt for 150 s",
  },
  {
    name: "the ConfigMap has had both CAs for less than 150 s",
    snapshot: telling(clientsTrusting, ofBoth, LONG - 1),
    at: "AcceptBoth, members done",
  },
  {
    name: "it is unknown since when the ConfigMap has both CAs",
    snapshot: telling(clientsTrusting, ofBoth, undefined),
    at: "AcceptBoth, members done",
  },
  {
    name: "the ConfigMap lacks a CA",
    snapshot: telling(clientsTrusting, bundle(OWN), LONG),
    at: "AcceptBoth, members done",
  },
  { name: "the ConfigMap is missing", snapshot: seenToo(told, { trustMap: absent }), at: "AcceptBoth, members done" },
  {
    name: "the ConfigMap could not be read",
    snapshot: seenToo(told, { trustMap: unknown("no") }),
    at: "AcceptBoth, members done",
  },
  {
    name: "the ConfigMap was not read",
    snapshot: seenToo(told, { trustMap: undefined } as never),
    at: "AcceptBoth, members done",
  },
  {
    name: "the ConfigMap belongs to another owner",
    snapshot: seenToo(told, { trustMap: theirMap, trustMapForMs: 0 }),
    at: "UseNew",
  },
  {
    name: "the ConfigMap has both CAs for long enough",
    snapshot: told,
    at: "UseNew",
    why: "members still use Secret my-etcd-server-tls",
  },
  {
    name: "the ConfigMap has one of two additional CAs",
    snapshot: telling(ofTwo, ofBoth, LONG),
    at: "AcceptBoth, members done",
  },
  { name: "the ConfigMap has both additional CAs", snapshot: telling(ofTwo, ofThree, LONG), at: "UseNew" },
  {
    name: "the client Secret has one of two additional CAs",
    snapshot: begin(ofTwo).apply(telling, ofThree, LONG).apply(withHandout, { trust: ofBoth, knownForMs: LONG })
      .snapshot,
    at: "AcceptBoth, members done",
  },
  {
    name: "the change is back to provider Operator and the client Secret has had the CA for less than 150 s",
    snapshot: withMade(back, { application: { trust: ofBoth, knownForMs: LONG - 1 } }),
    at: "AcceptBoth, members done",
  },
  {
    name: "the change is back to provider Operator and the client Secret has had the CA for 150 s",
    snapshot: withMade(back, { application: { trust: ofBoth, knownForMs: LONG } }),
    at: "UseNew",
  },
  {
    name: "the client Secret lacks the new CA",
    snapshot: withHandout(told, { knownForMs: LONG }),
    at: "AcceptBoth, members done",
    why: "Secret my-etcd-client has to list the new CA in ca.crt for 150 s",
  },
  {
    name: "the client Secret has had both CAs for 150 s",
    snapshot: withHandout(told, { trust: ofBoth, knownForMs: LONG }),
    at: "UseNew",
  },
  {
    name: "the client Secret has had both CAs for less than 150 s",
    snapshot: withHandout(told, { trust: ofBoth, knownForMs: LONG - 1 }),
    at: "AcceptBoth, members done",
  },
  {
    name: "the client Secret belongs to another owner",
    snapshot: withHandout(told, { isOurs: false }),
    at: "UseNew",
  },
  {
    name: "a member uses the new certificate and the operator has just restarted",
    snapshot: begin(told).apply(running, ["my-etcd-0"], clientsOf("their-server", ofBoth)).apply(telling, ofBoth, 0)
      .snapshot,
    at: "UseNew",
  },
  {
    name: "all members use the new certificate and the operator does not yet",
    snapshot: shown,
    at: "UseNew, members done",
    why: "the operator is about to use Secret their-operator",
  },
  { name: "the operator uses its new certificate", snapshot: over, at: "no change" },
  {
    name: "the operator's new certificate could not be read",
    snapshot: withSeen(over, { operator: unknown("no") }),
    at: "UseNew, members done",
  },
  {
    name: "members that trust only the new CA would reject the operator",
    snapshot: withMade(over, { operator: { ...theirs, by: NEXT, trust: bundle(NEXT, THEIRS) } }),
    at: "UseNew, members done",
  },
  {
    name: "the client Secret has a certificate of the previous CA",
    snapshot: withHandout(over, { by: OWN }),
    at: "UseNew, members done",
    why: "the certificate in Secret my-etcd-client is signed by the previous CA; delete it once",
  },
  {
    name: "the client Secret is about to get the certificate of cert-manager",
    snapshot: withHandout(managed, { by: OWN }),
    at: "UseNew, members done",
    why: "the certificate in Secret my-etcd-client is signed by the previous CA; applications are about to get a new certificate",
  },
  {
    name: "the client Secret has a certificate of the new CA",
    snapshot: withHandout(over, applications),
    at: "no change",
  },
  {
    name: "the client Secret has had its new certificate for less than 150 s",
    snapshot: withHandout(over, { ...applications, signerForMs: LONG - 1 }),
    at: "UseNew, members done",
    why: "Secret my-etcd-client has to hold its new certificate for 150 s",
  },
  {
    name: "the client Secret belongs to another owner after the change",
    snapshot: withHandout(over, { isOurs: false }),
    at: "no change",
  },
  {
    name: "the ConfigMap has had both CAs for less than --reread-within",
    snapshot: { ...telling(clientsTrusting, ofBoth, 3_699_999), rereadWithinMs: 3_700_000 },
    at: "AcceptBoth, members done",
    why: "ConfigMap my-etcd-ca has to list the new CA in ca.crt for 3700 s",
  },
  {
    name: "the ConfigMap has had both CAs for --reread-within",
    snapshot: { ...telling(clientsTrusting, ofBoth, 3_700_000), rereadWithinMs: 3_700_000 },
    at: "UseNew",
  },
  {
    name: "the client Secret has had both CAs for less than --reread-within",
    snapshot: begin(told).apply(withHandout, { trust: ofBoth, knownForMs: 3_699_999 }).apply(hourly).snapshot,
    at: "AcceptBoth, members done",
    why: "Secret my-etcd-client has to list the new CA in ca.crt for 3700 s",
  },
  {
    name: "the client Secret has had both CAs for --reread-within",
    snapshot: begin(told).apply(withHandout, { trust: ofBoth, knownForMs: 3_700_000 }).apply(hourly).snapshot,
    at: "UseNew",
  },
  {
    name: "the client Secret has had its new certificate for less than --reread-within",
    snapshot: begin(over)
      .apply(withHandout, { ...applications, signerForMs: 3_699_999 })
      .apply(hourly).snapshot,
    at: "UseNew, members done",
    why: "Secret my-etcd-client has to hold its new certificate for 3700 s",
  },
  {
    name: "the client Secret has had its new certificate for --reread-within",
    snapshot: begin(over)
      .apply(withHandout, { ...applications, signerForMs: 3_700_000 })
      .apply(hourly).snapshot,
    at: "no change",
  },
  {
    name: "some member trusts only the new CA already",
    snapshot: running(shown, ["my-etcd-2"], clientsOf("their-server", bundle(THEIRS))),
    at: "no change",
  },
  {
    name: "all members trust only the new CA",
    snapshot: running(shown, undefined, clientsOf("their-server", bundle(THEIRS))),
    at: "no change",
  },
  {
    name: "all members trust the same CAs in another order",
    snapshot: begin(shown)
      .apply(withMade, { server: { ...theirs, trust: bundle(THEIRS, NEXT) } })
      .apply(running, undefined, {
        ...clientsOf("their-server", bundle(NEXT, THEIRS)),
      }).snapshot,
    at: "no change",
  },
  {
    name: "members use the new certificate and require no client certificate",
    snapshot: notAsking(shown),
    at: "no change",
  },
];

test("hasBegun is false when clients use no TLS", () => {
  expect(hasBegun(cluster(), "client")).toBe(false);
  expect([certified, told, shown].map((each) => hasBegun(each, "client"))).toEqual([true, false, true]);
});

test("isUnread is true when a Secret was not read or etcd does not answer, and false for a missing Secret", () => {
  const silent = withAuth(told, { state: unknown("no answer") });
  expect([isUnread(silent, "client"), isUnread(silent, "peer"), isUnread(told, "client")]).toEqual([
    true,
    false,
    false,
  ]);
  const lost = withSeen(told, { server: absent });
  expect([lost, withSeen(lost, { operator: unknown("no answer") })].map((each) => isUnread(each, "client"))).toEqual([false, true]); // biome-ignore format: one line
});

test("members wait while the operator's next common name is no administrator of etcd", () => {
  const operator = present(made(told, "operator", { ...theirs, commonName: "ops" }));
  const { client } = providerChanges(
    begin(told).apply(withSeen, { operator }).apply(withAuth, { next: "ops" }).snapshot,
  );
  expect(client).toMatchObject({
    round: "Prepare",
    waitsFor: expect.stringContaining("that user does not have the role root in etcd yet"),
  });
});

describe("the client side of a provider change", () => {
  test.each(clients)("is in round $at when $name", ({ snapshot, at, why }) => {
    const change = providerChanges(snapshot).client;
    expect(stageOf(change)).toBe(at);
    if (why !== undefined) expect(change?.waitsFor).toContain(why);
  });
});

/** Both sides change; members trust both CAs on the peer side, and have this on the client side. */
function bothSides(client: NonNullable<typeof tlsOfAll.client>): ClusterSnapshot {
  const tls = { peer: { provider: "Secret", secret: { name: "their-peer" } }, client: BROUGHT };
  const brought = begin(certified)
    .apply(goingTo, tls)
    .apply(withMade, { peer: theirs, server: theirs, operator: theirs }).snapshot;
  return running(brought, undefined, { ...shows("my-etcd-peer-tls", ofBoth), client });
}

const peers: { name: string; snapshot: ClusterSnapshot; at: string; why?: string }[] = [
  { name: "the requested Secret is in use", snapshot: certified, at: "no change" },
  { name: "TLS is not requested any more", snapshot: switching(WITHOUT, ["all", "all", "all"]), at: "no change" },
  { name: "no member trusts the new CA yet", snapshot: leaving, at: "AcceptBoth" },
  { name: "the new Secret is missing", snapshot: withSeen(leaving, { peer: absent }), at: "Prepare" },
  { name: "only the server Secret is missing", snapshot: withSeen(leaving, { server: absent }), at: "AcceptBoth" },
  {
    name: "both sides change and members do not trust both CAs of the client side yet",
    snapshot: bothSides(tlsOfAll.client!),
    at: "AcceptBoth, members done",
    why: "do not trust the new CA yet",
  },
  {
    name: "both sides change and the ConfigMap lacks the new CA",
    snapshot: bothSides(clientsOf("my-etcd-server-tls", ofBoth).client),
    at: "AcceptBoth, members done",
    why: "ConfigMap my-etcd-ca has to list",
  },
  {
    name: "both sides change and the ConfigMap has the new CA",
    snapshot: telling(bothSides(clientsOf("my-etcd-server-tls", ofBoth).client), ofBoth, LONG),
    at: "UseNew",
  },
  {
    name: "both sides change and the operator's requested Secret is missing",
    snapshot: withSeen(bothSides(tlsOfAll.client!), { operator: absent }),
    at: "UseNew",
  },
  {
    name: "all members trust the new CA",
    snapshot: turnedTrusting,
    at: "UseNew",
    why: "members still use Secret my-etcd-peer-tls",
  },
  {
    name: "only one member uses the new certificate",
    snapshot: running(turnedTrusting, ["my-etcd-0"], shows("their-peer", ofBoth)),
    at: "UseNew",
  },
  {
    name: "all members use the new certificate",
    snapshot: running(lastTurns, undefined, shows("their-peer", ofBoth)),
    at: "no change",
  },
];

describe("the peer side of a provider change", () => {
  test.each(peers)("is in round $at when $name", ({ snapshot, at, why }) => {
    const change = providerChanges(snapshot).peer;
    expect(stageOf(change)).toBe(at);
    if (why !== undefined) expect(change?.waitsFor).toContain(why);
  });
});

test("hasBegun is true once an EtcdPeer has the requested Secret", () => {
  expect(
    [told, running(told, ["my-etcd-0"], clientsOf("their-server", ofBoth))].map((each) => hasBegun(each, "client")),
  ).toEqual([false, true]);
  expect(hasBegun(switching({ client: { provider: "None" } }, ["nothing", "nothing", "nothing"]), "client")).toBe(
    false,
  );
});

test("clients get both CAs until the change is complete", () => {
  const both = (snapshot: ClusterSnapshot) => new Set(certificatesIn(providerChanges(snapshot).client?.bundle ?? ""));
  for (const snapshot of [turnedClients, clientsTrusting, told, shown])
    expect(both(snapshot)).toEqual(trusted(OWN, THEIRS));
  expect(both(goingTo(certified, { client: BROUGHT }))).toEqual(trusted(OWN));
  for (const snapshot of [certified, over]) expect(providerChanges(snapshot).client?.bundle).toBeUndefined();
});

test("a bundle covers a certificate only if it has the CA that signed it", () => {
  const facts = { signerId: THEIRS.id, trust: bundle(OWN, THEIRS) };
  expect([bundle(THEIRS), bundle(OWN), ofThree].map((text) => vouches(text, facts))).toEqual([true, false, true]);
  expect(vouches(bundle(OWN), { signerId: undefined, trust: bundle(OWN) })).toBe(false);
  expect(vouches(bundle(OWN), { signerId: NEXT.id, trust: bundle(OWN) })).toBe(false);
});

/** The Secret of members, and the CAs that they trust. */
function got(snapshot: ClusterSnapshot, side: "peer" | "client") {
  const has = memberTls(snapshot)?.[side];
  return [has?.secretName, new Set(certificatesIn(has?.trust ?? ""))];
}

const trusted = (...all: readonly { pem: string }[]) => new Set(certificatesIn(all.map(({ pem }) => pem).join("")));

/** Two of three members use the user-provided Secret. */
const halfWay = running(told, ["my-etcd-1", "my-etcd-2"], clientsOf("their-server", ofBoth));
const asksUsers = { ...halfWay.cluster.spec, auth: { enabled: true } };
/** etcd has authentication enabled, and does not answer whether it accepts the operator's next name. */
const unasked: ClusterSnapshot = {
  ...withSeen(halfWay, {
    operator: present(made(halfWay, "operator", { ...theirs, commonName: "ops" })),
  }),
  cluster: { ...halfWay.cluster, spec: asksUsers, status: { ...halfWay.cluster.status, auth: { enabled: true } } },
  auth: { ...guarded({ next: "ops" }).auth!, state: unknown("no answer") },
};

/** One of three members trusts both and uses this Secret; the others are unchanged. */
const oneTurned = (secretName: string) => running(turnedClients, ["my-etcd-2"], clientsOf(secretName, ofBoth));

const gets: { name: string; snapshot: ClusterSnapshot; secretName: string; trust: ReadonlySet<string> }[] = [
  {
    name: "waits keeps its Secret",
    snapshot: goingTo(certified, { client: BROUGHT }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN),
  },
  {
    name: "waits keeps its CAs although another member trusts both already",
    snapshot: withSeen(oneTurned("my-etcd-server-tls"), { server: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN),
  },
  {
    name: "waits begins to trust the CA of an abandoned Secret that another member uses",
    snapshot: withSeen(oneTurned("their-server"), { server: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "waits for the operator's certificate keeps its Secret and CAs",
    snapshot: withSeen(turnedClients, { operator: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN),
  },
  {
    name: "waits again for the operator's certificate keeps both CAs",
    snapshot: withSeen(clientsTrusting, { operator: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "should trust both CAs gets both first",
    snapshot: turnedClients,
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "waits for clients keeps its Secret",
    snapshot: clientsTrusting,
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "may use the new certificate gets it",
    snapshot: told,
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "uses the new certificate trusts both CAs while others use the previous one",
    snapshot: shown,
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "uses the new certificate keeps it while the Secret cannot be read",
    snapshot: withSeen(halfWay, { server: unknown("no answer") }),
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "uses the new certificate keeps it while etcd does not answer about the operator's next name",
    snapshot: unasked,
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "uses the new certificate keeps it also when the operator's Secret is lost",
    snapshot: withSeen(halfWay, { server: unknown("no answer"), operator: absent }),
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "uses a lost Secret returns to the Secret recorded as in use",
    snapshot: withSeen(halfWay, { server: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "has completed the change trusts only the new CA",
    snapshot: over,
    secretName: "their-server",
    trust: trusted(THEIRS),
  },
];

describe("a member that", () => {
  test.each(gets)("$name", ({ snapshot, secretName, trust }) => {
    expect(got(snapshot, "client")).toEqual([secretName, trust]);
  });
});

test("the peer side returns to the recorded Secret although etcd does not answer about users", () => {
  const gone = begin(lastTurns)
    .apply(running, ["my-etcd-1"], shows("their-peer", ofBoth))
    .apply(withSeen, { peer: absent }).snapshot;
  const { auth } = guarded({ state: unknown("no answer") });
  expect(got({ ...gone, auth: auth! }, "peer")).toEqual(["my-etcd-peer-tls", trusted(OWN, THEIRS)]);
});

test("a provider change of one side does not change the other side", () => {
  expect(got(told, "peer")).toEqual(got(certified, "peer"));
  expect(got(turnedTrusting, "client")).toEqual(got(certified, "client"));
  expect(got(turnedTrusting, "peer")).toEqual(["their-peer", trusted(OWN, THEIRS)]);
});

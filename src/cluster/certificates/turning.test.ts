import { describe, expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import { bothIn, courses, hasBegun, isUnread } from "#cluster/certificates/course.ts";
import { memberTls } from "#cluster/certificates.ts";
import { trustMap } from "#cluster/desired/certificates.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { born, cluster } from "#kit/cluster.ts";
import { guarded, withAuth } from "#kit/cluster-auth.ts";
import { certified, tlsOfAll } from "#kit/cluster-steps.ts";
import { switching, WITHOUT } from "#kit/cluster-switch.ts";
import { bundle, goingTo, made, NEXT, OWN, running, THEIRS, unissued, withMade, withSeen } from "#kit/cluster-tls.ts";
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
} from "#kit/cluster-turn.ts";
import type { ConfigMap } from "#kube/kinds.ts";

// How far members have come on their way to show what comes from somewhere else, by what is seen: whole ways are in course.test.ts.

/** Applications read anew once in an hour what they are given; what the ConfigMap says is old by now. */
function hourly(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...seenToo(snapshot, { trustMapForMs: 3_700_000 }), rereadWithinMs: 3_700_000 };
}

const map = trustMap(told, bundle(OWN));
/** It has the name, and is not the cluster's. */
const theirMap = present({
  ...born<ConfigMap>(map),
  metadata: { ...born<ConfigMap>(map).metadata, ownerReferences: [] },
});

const applications = { by: THEIRS, signerForMs: LONG };

/** cert-manager fills it for applications, as an earlier operator has asked for. */
const byManager = { isOurs: false, certificateName: "my-etcd-client" };

const clients: { name: string; snapshot: ClusterSnapshot; at: string; why?: string }[] = [
  { name: "what is asked for is what is shown", snapshot: certified, at: "settled" },
  { name: "nobody shows anything yet", snapshot: unissued({ stage: "recorded" }), at: "settled" },
  {
    name: "nobody shows yet what is there",
    snapshot: withMade(unissued({ stage: "recorded" }), { server: {} }),
    at: "settled",
  },
  { name: "nothing is asked for any more", snapshot: switching(WITHOUT, ["all", "all", "all"]), at: "settled" },
  { name: "what is shown is not seen", snapshot: withSeen(certified, { server: unknown("no") }), at: "settled" },
  {
    name: "what is to be shown is not there",
    snapshot: goingTo(certified, { client: BROUGHT }),
    at: "waiting",
    why: "Secret foo/their-server, what members show to clients, is not there",
  },
  {
    name: "cert-manager fills for applications what says nothing of the new one",
    snapshot: withHandout(told, byManager),
    at: "tell",
    why: "Secret my-etcd-client, which cert-manager fills, does not say whom clients are to trust besides; delete Certificate my-etcd-client and the Secret once applications show what people bring, and trust whom ConfigMap my-etcd-ca names",
  },
  {
    name: "it does so for somebody else",
    snapshot: withHandout(told, { ...byManager, certificateName: "other" }),
    at: "show",
  },
  {
    name: "it says all of it",
    snapshot: withHandout(told, { ...byManager, trust: ofBoth, knownForMs: LONG }),
    at: "show",
  },
  {
    name: "it is signed by the former authority, and everything else is done",
    snapshot: withHandout(over, byManager),
    at: "hand",
    why: "Secret my-etcd-client is signed by a former authority; delete Certificate my-etcd-client and the Secret once applications show",
  },
  {
    name: "it is so, and an issuer is asked for",
    snapshot: withHandout(managed, byManager),
    at: "hand",
    why: "delete Certificate my-etcd-client and the Secret: then applications get another one",
  },
  {
    name: "it is signed by the one that is asked for",
    snapshot: withHandout(over, { ...byManager, ...applications }),
    at: "settled",
  },
  {
    name: "it is somebody else's, and signed by the former authority",
    snapshot: withHandout(over, { ...byManager, certificateName: "other" }),
    at: "settled",
  },
  {
    name: "what the operator is to show is not there",
    snapshot: withSeen(turnedClients, { operator: absent }),
    at: "waiting",
    why: "Secret foo/their-operator",
  },
  {
    name: "what is to be shown has ended",
    snapshot: withMade(turnedClients, { server: { ...theirs, lastsMs: -1 } }),
    at: "waiting",
    why: "has ended",
  },
  {
    name: "what applications are to show is not waited for",
    snapshot: withMade(goingTo(certified, { client: issuer }), { server: theirs, operator: theirs }),
    at: "trust",
  },
  {
    name: "members would not let the operator in",
    snapshot: withMade(turnedClients, { operator: { ...theirs, by: NEXT, trust: bundle(NEXT, THEIRS) } }),
    at: "waiting",
    why: "and members would not let the operator in",
  },
  {
    name: "which is no matter where they ask nobody",
    snapshot: withMade(notAsking(turnedClients), { operator: { ...theirs, by: NEXT, trust: bundle(NEXT, THEIRS) } }),
    at: "trust",
  },
  {
    name: "the operator would not believe members",
    snapshot: withMade(turnedClients, {
      server: { ...theirs, trust: bundle(THEIRS, NEXT) },
      operator: { ...theirs, by: NEXT },
    }),
    at: "waiting",
    why: "and the operator would not believe members",
  },
  {
    name: "the operator would be nobody to etcd, which asks for users",
    snapshot: withAuth(withMade(turnedClients, { operator: { ...theirs, commonName: "ops" } }), { next: "ops" }),
    at: "waiting",
    why: "ops, its common name, is no administrator there yet",
  },
  {
    name: "nobody trusts both yet",
    snapshot: turnedClients,
    at: "trust",
    why: "my-etcd-0, my-etcd-1, my-etcd-2 do not trust both yet",
  },
  {
    name: "one member does not trust both yet",
    snapshot: running(turnedClients, ["my-etcd-0", "my-etcd-1"], clientsOf("my-etcd-server-tls", ofBoth)),
    at: "trust",
    why: "my-etcd-2 does not trust both yet",
  },
  {
    name: "clients have not been told yet",
    snapshot: clientsTrusting,
    at: "tell",
    why: "ConfigMap my-etcd-ca has to say for 150 s whom clients are to trust besides",
  },
  {
    name: "clients have been told a moment too short",
    snapshot: telling(clientsTrusting, ofBoth, LONG - 1),
    at: "tell",
  },
  { name: "nobody knows for how long", snapshot: telling(clientsTrusting, ofBoth, undefined), at: "tell" },
  { name: "clients are told less", snapshot: telling(clientsTrusting, bundle(OWN), LONG), at: "tell" },
  { name: "clients are told nothing", snapshot: seenToo(told, { trustMap: absent }), at: "tell" },
  { name: "nobody knows what clients are told", snapshot: seenToo(told, { trustMap: unknown("no") }), at: "tell" },
  {
    name: "nobody has looked what they are told",
    snapshot: seenToo(told, { trustMap: undefined } as never),
    at: "tell",
  },
  {
    name: "somebody else tells clients what they want",
    snapshot: seenToo(told, { trustMap: theirMap, trustMapForMs: 0 }),
    at: "show",
  },
  {
    name: "clients know both",
    snapshot: told,
    at: "show",
    why: "Secret my-etcd-server-tls is still shown",
  },
  { name: "clients know one of two", snapshot: telling(ofTwo, ofBoth, LONG), at: "tell" },
  { name: "clients know two besides", snapshot: telling(ofTwo, ofThree, LONG), at: "show" },
  {
    name: "applications know one of two",
    snapshot: withHandout(telling(ofTwo, ofThree, LONG), { trust: ofBoth, knownForMs: LONG }),
    at: "tell",
  },
  {
    name: "it goes back, and applications have not been told",
    snapshot: withMade(back, { application: { trust: ofBoth, knownForMs: LONG - 1 } }),
    at: "tell",
  },
  {
    name: "it goes back, and applications have been told",
    snapshot: withMade(back, { application: { trust: ofBoth, knownForMs: LONG } }),
    at: "show",
  },
  {
    name: "applications have not been told",
    snapshot: withHandout(told, { knownForMs: LONG }),
    at: "tell",
    why: "Secret my-etcd-client has to say for 150 s whom clients are to trust besides",
  },
  {
    name: "applications have been told both",
    snapshot: withHandout(told, { trust: ofBoth, knownForMs: LONG }),
    at: "show",
  },
  {
    name: "applications have been told a moment too short",
    snapshot: withHandout(told, { trust: ofBoth, knownForMs: LONG - 1 }),
    at: "tell",
  },
  { name: "what applications have is somebody else's", snapshot: withHandout(told, { isOurs: false }), at: "show" },
  {
    name: "it has begun, and a new process knows of no time",
    snapshot: telling(running(told, ["my-etcd-0"], clientsOf("their-server", ofBoth)), ofBoth, 0),
    at: "show",
  },
  {
    name: "the operator has to go over",
    snapshot: shown,
    at: "hand",
    why: "the operator goes over to Secret their-operator",
  },
  { name: "the operator has gone over", snapshot: over, at: "settled" },
  {
    name: "nobody knows what it shows then",
    snapshot: withSeen(over, { operator: unknown("no") }),
    at: "hand",
  },
  {
    name: "it would not be let in by the new authority alone",
    snapshot: withMade(over, { operator: { ...theirs, by: NEXT, trust: bundle(NEXT, THEIRS) } }),
    at: "hand",
  },
  {
    name: "applications show what a former authority has signed",
    snapshot: withHandout(over, { by: OWN }),
    at: "hand",
    why: "Secret my-etcd-client is signed by a former authority; delete it once",
  },
  {
    name: "applications are to show what cert-manager issues for them",
    snapshot: withHandout(managed, { by: OWN }),
    at: "hand",
    why: "Secret my-etcd-client is signed by a former authority; applications are about to get another one",
  },
  { name: "applications show what the new one has signed", snapshot: withHandout(over, applications), at: "settled" },
  {
    name: "not all of them may show it yet",
    snapshot: withHandout(over, { ...applications, signerForMs: LONG - 1 }),
    at: "hand",
    why: "Secret my-etcd-client has to be for 150 s what applications show",
  },
  { name: "what they have by then is somebody else's", snapshot: withHandout(over, { isOurs: false }), at: "settled" },
  {
    name: "applications read what they trust once in an hour, by the ConfigMap",
    snapshot: { ...telling(clientsTrusting, ofBoth, 3_699_999), rereadWithinMs: 3_700_000 },
    at: "tell",
    why: "ConfigMap my-etcd-ca has to say for 3700 s whom clients are to trust besides",
  },
  {
    name: "the hour is over",
    snapshot: { ...telling(clientsTrusting, ofBoth, 3_700_000), rereadWithinMs: 3_700_000 },
    at: "show",
  },
  {
    name: "applications read what they trust once in an hour, by the Secret",
    snapshot: hourly(withHandout(told, { trust: ofBoth, knownForMs: 3_699_999 })),
    at: "tell",
    why: "Secret my-etcd-client has to say for 3700 s whom clients are to trust besides",
  },
  {
    name: "that hour is over",
    snapshot: hourly(withHandout(told, { trust: ofBoth, knownForMs: 3_700_000 })),
    at: "show",
  },
  {
    name: "applications read what they show once in an hour",
    snapshot: hourly(withHandout(over, { ...applications, signerForMs: 3_699_999 })),
    at: "hand",
    why: "Secret my-etcd-client has to be for 3700 s what applications show",
  },
  {
    name: "by now they have done so",
    snapshot: hourly(withHandout(over, { ...applications, signerForMs: 3_700_000 })),
    at: "settled",
  },
  {
    name: "some member trusts the new one alone by now",
    snapshot: running(shown, ["my-etcd-2"], clientsOf("their-server", bundle(THEIRS))),
    at: "settled",
  },
  {
    name: "all of them trust the new one alone",
    snapshot: running(shown, undefined, clientsOf("their-server", bundle(THEIRS))),
    at: "settled",
  },
  {
    name: "all of them trust the same ones in another order",
    snapshot: running(withMade(shown, { server: { ...theirs, trust: bundle(THEIRS, NEXT) } }), undefined, {
      ...clientsOf("their-server", bundle(NEXT, THEIRS)),
    }),
    at: "settled",
  },
  { name: "members ask nobody for a certificate", snapshot: notAsking(shown), at: "settled" },
];

test("where clients speak no TLS, nothing has begun", () => {
  expect(hasBegun(cluster(), "client")).toBe(false);
  expect([certified, told, shown].map((each) => hasBegun(each, "client"))).toEqual([true, false, true]);
});

test("what nobody could read, or etcd could not be asked, is told apart from what is wrong", () => {
  const silent = withAuth(told, { state: unknown("no answer") });
  expect([isUnread(silent, "client"), isUnread(silent, "peer"), isUnread(told, "client")]).toEqual([
    true,
    false,
    false,
  ]);
  const lost = withSeen(told, { server: absent });
  expect([lost, withSeen(lost, { operator: unknown("no answer") })].map((each) => isUnread(each, "client"))).toEqual([false, true]); // biome-ignore format: one line
});

test("members wait while the operator would be nobody to etcd by what it is to show", () => {
  const operator = present(made(told, "operator", { ...theirs, commonName: "ops" }));
  const { client } = courses(withAuth(withSeen(told, { operator }), { next: "ops" }));
  expect(client).toMatchObject({ at: "waiting", why: expect.stringContaining("no administrator there yet") });
});

describe("how far members have come towards clients: when", () => {
  test.each(clients)("$name", ({ snapshot, at, why }) => {
    const course = courses(snapshot).client;
    expect(course.at).toBe(at);
    if (why !== undefined) expect("why" in course ? course.why : undefined).toContain(why);
  });
});

/** Both sides are to come from somewhere else; members trust both towards each other, and have this towards clients. */
function bothSides(client: NonNullable<typeof tlsOfAll.client>): ClusterSnapshot {
  const tls = { peer: { provider: "Secret", secret: { secretName: "their-peer" } }, client: BROUGHT };
  const brought = withMade(goingTo(certified, tls), { peer: theirs, server: theirs, operator: theirs });
  return running(brought, undefined, { ...shows("my-etcd-peer-tls", ofBoth), client });
}

const peers: { name: string; snapshot: ClusterSnapshot; at: string; why?: string }[] = [
  { name: "what they show is what is asked for", snapshot: certified, at: "settled" },
  { name: "nothing is asked for any more", snapshot: switching(WITHOUT, ["all", "all", "all"]), at: "settled" },
  { name: "nobody trusts the new one yet", snapshot: leaving, at: "trust" },
  { name: "the new one is not there", snapshot: withSeen(leaving, { peer: absent }), at: "waiting" },
  { name: "what clients are shown is amiss", snapshot: withSeen(leaving, { server: absent }), at: "trust" },
  {
    name: "clients are not told yet of what changes towards them, too",
    snapshot: bothSides(tlsOfAll.client!),
    at: "tell",
    why: "do not trust both yet",
  },
  {
    name: "members wait for clients to be told",
    snapshot: bothSides(clientsOf("my-etcd-server-tls", ofBoth).client),
    at: "tell",
    why: "ConfigMap my-etcd-ca has to say",
  },
  {
    name: "clients have been told, too",
    snapshot: telling(bothSides(clientsOf("my-etcd-server-tls", ofBoth).client), ofBoth, LONG),
    at: "show",
  },
  {
    name: "nobody knows how long it takes towards clients",
    snapshot: withSeen(bothSides(tlsOfAll.client!), { operator: absent }),
    at: "show",
  },
  { name: "all trust it", snapshot: turnedTrusting, at: "show", why: "Secret my-etcd-peer-tls is still shown" },
  {
    name: "one has yet to show it",
    snapshot: running(turnedTrusting, ["my-etcd-0"], shows("their-peer", ofBoth)),
    at: "show",
  },
  { name: "all show it", snapshot: running(lastTurns, undefined, shows("their-peer", ofBoth)), at: "settled" },
];

describe("how far members have come towards each other: when", () => {
  test.each(peers)("$name", ({ snapshot, at, why }) => {
    const course = courses(snapshot).peer;
    expect(course.at).toBe(at);
    if (why !== undefined) expect("why" in course ? course.why : undefined).toContain(why);
  });
});

test("it has begun once a member is to show what is asked for, and not where nothing is", () => {
  expect(
    [told, running(told, ["my-etcd-0"], clientsOf("their-server", ofBoth))].map((each) => hasBegun(each, "client")),
  ).toEqual([false, true]);
  expect(hasBegun(switching({ client: { provider: "None" } }, ["nothing", "nothing", "nothing"]), "client")).toBe(
    false,
  );
});

test("clients are told to trust both for as long as members do not show the new one alone", () => {
  const both = (snapshot: ClusterSnapshot) => new Set(certificatesIn(bothIn(courses(snapshot).client) ?? ""));
  for (const snapshot of [turnedClients, clientsTrusting, told, shown])
    expect(both(snapshot)).toEqual(trusted(OWN, THEIRS));
  expect(both(goingTo(certified, { client: BROUGHT }))).toEqual(trusted(OWN));
  for (const snapshot of [certified, over]) expect(bothIn(courses(snapshot).client)).toBeUndefined();
});

test("of several authorities that come with a certificate the one vouches that has signed it", () => {
  const facts = { signerId: THEIRS.id, trust: bundle(OWN, THEIRS) };
  expect([bundle(THEIRS), bundle(OWN), ofThree].map((text) => vouches(text, facts))).toEqual([true, false, true]);
  expect(vouches(bundle(OWN), { signerId: undefined, trust: bundle(OWN) })).toBe(false);
  expect(vouches(bundle(OWN), { signerId: NEXT.id, trust: bundle(OWN) })).toBe(false);
});

/** From which Secret members get what they show, and by whose certificates they get to know others. */
function got(snapshot: ClusterSnapshot, side: "peer" | "client") {
  const has = memberTls(snapshot)?.[side];
  return [has?.secretName, new Set(certificatesIn(has?.trust ?? ""))];
}

const trusted = (...all: readonly { pem: string }[]) => new Set(certificatesIn(all.map(({ pem }) => pem).join("")));

/** Two of three members show what people have brought by now. */
const halfWay = running(told, ["my-etcd-1", "my-etcd-2"], clientsOf("their-server", ofBoth));
const asksUsers = { ...halfWay.cluster.spec, auth: { enabled: true } };
/** And etcd, which asks for users, cannot be asked just now whether it knows the operator's next name. */
const unasked: ClusterSnapshot = {
  ...withSeen(halfWay, {
    operator: present(made(halfWay, "operator", { ...theirs, commonName: "ops" })),
  }),
  cluster: { ...halfWay.cluster, spec: asksUsers, status: { ...halfWay.cluster.status, auth: { enabled: true } } },
  auth: { ...guarded({ next: "ops" }).auth!, state: unknown("no answer") },
};

/** One of three trusts both, and shows this; the others have heard of nothing. */
const oneTurned = (secretName: string) => running(turnedClients, ["my-etcd-2"], clientsOf(secretName, ofBoth));

const gets: { name: string; snapshot: ClusterSnapshot; secretName: string; trust: ReadonlySet<string> }[] = [
  {
    name: "waits gets what it has",
    snapshot: goingTo(certified, { client: BROUGHT }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN),
  },
  {
    name: "waits goes on with what it has, although another one trusts more by now",
    snapshot: withSeen(oneTurned("my-etcd-server-tls"), { server: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN),
  },
  {
    name: "waits while another one shows what nobody asks for any more comes to trust that, too",
    snapshot: withSeen(oneTurned("their-server"), { server: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "waits for the operator's part gets what it has",
    snapshot: withSeen(turnedClients, { operator: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN),
  },
  {
    name: "waits for it again goes on to trust both",
    snapshot: withSeen(clientsTrusting, { operator: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "is to trust both gets that first",
    snapshot: turnedClients,
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "waits for clients goes on to show what it shows",
    snapshot: clientsTrusting,
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  { name: "may show the new one gets it", snapshot: told, secretName: "their-server", trust: trusted(OWN, THEIRS) },
  {
    name: "shows it goes on to trust both while others show the former one",
    snapshot: shown,
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "shows it goes on with it while nobody can look whether it is good",
    snapshot: withSeen(halfWay, { server: unknown("no answer") }),
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "shows it goes on with it while etcd cannot be asked who the operator is about to be",
    snapshot: unasked,
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "shows it goes on with it as well where something else is gone besides",
    snapshot: withSeen(halfWay, { server: unknown("no answer"), operator: absent }),
    secretName: "their-server",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "shows what is gone goes back to what is on record",
    snapshot: withSeen(halfWay, { server: absent }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN, THEIRS),
  },
  {
    name: "has done with it trusts the new one alone",
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

test("what etcd says of users is nothing to what members show to each other", () => {
  const gone = withSeen(running(lastTurns, ["my-etcd-1"], shows("their-peer", ofBoth)), { peer: absent });
  const { auth } = guarded({ state: unknown("no answer") });
  expect(got({ ...gone, auth: auth! }, "peer")).toEqual(["my-etcd-peer-tls", trusted(OWN, THEIRS)]);
});

test("what is asked for of one side is nothing to the other one", () => {
  expect(got(told, "peer")).toEqual(got(certified, "peer"));
  expect(got(turnedTrusting, "client")).toEqual(got(certified, "client"));
  expect(got(turnedTrusting, "peer")).toEqual(["their-peer", trusted(OWN, THEIRS)]);
});

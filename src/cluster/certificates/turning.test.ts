import { describe, expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { courses } from "#cluster/certificates/course.ts";
import { memberTls } from "#cluster/certificates.ts";
import { trustMap } from "#cluster/desired/certificates.ts";
import type { ClusterSnapshot, SeenCertificates } from "#cluster/snapshot.ts";
import { born } from "#kit/cluster.ts";
import { certified } from "#kit/cluster-steps.ts";
import { bundle, goingTo, made, NEXT, OWN, running, THEIRS, unissued, withMade, withSeen } from "#kit/cluster-tls.ts";
import {
  clientsOf,
  clientsTrusting,
  lastTurns,
  leaving,
  notAsking,
  ofBoth,
  shows,
  turnedClients,
  turnedTrusting,
} from "#kit/cluster-turn.ts";
import type { ConfigMap } from "#kube/kinds.ts";

// How far members have come on their way to show what comes from somewhere else, by what is seen: whole ways are in course.test.ts.

const BROUGHT = {
  provider: "Secret",
  secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
};
const issuer = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
const theirs = { by: THEIRS, isOurs: false };

function seenToo(snapshot: ClusterSnapshot, more: Partial<SeenCertificates>): ClusterSnapshot {
  return { ...snapshot, certificates: { ...snapshot.certificates, ...more } };
}

/** Clients that read the ConfigMap are told this, for so long. */
function telling(snapshot: ClusterSnapshot, trust: string, trustMapForMs: number | undefined): ClusterSnapshot {
  const map = present(born<ConfigMap>(trustMap(snapshot, trust)));
  return seenToo(snapshot, { trustMap: map, ...(trustMapForMs === undefined ? {} : { trustMapForMs }) });
}

/** Applications have this by now. */
function given(snapshot: ClusterSnapshot, facts: Parameters<typeof made>[2]): ClusterSnapshot {
  return seenToo(snapshot, { handout: present(made(certified, "application", facts)) });
}

const LONG = 150_000;
const told = telling(clientsTrusting, ofBoth, LONG);
const map = trustMap(told, bundle(OWN));
/** It has the name, and is not the cluster's. */
const theirMap = present({
  ...born<ConfigMap>(map),
  metadata: { ...born<ConfigMap>(map).metadata, ownerReferences: [] },
});

/** All members show what people have brought for clients, and trust both; the operator shows what it has issued. */
const shown = running(told, undefined, clientsOf("their-server", ofBoth));

/** The same, and the operator shows what people have brought, too. */
function handedOver(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster } = snapshot;
  const issuedBy = { ...cluster.status?.issuedBy, client: { provider: "Secret", secret: BROUGHT.secret } } as const;
  return { ...snapshot, cluster: { ...cluster, status: { ...cluster.status, issuedBy } } };
}

const over = handedOver(shown);
const applications = { by: THEIRS, signerForMs: LONG };

const clients: { name: string; snapshot: ClusterSnapshot; at: string; why?: string }[] = [
  { name: "what is asked for is what is shown", snapshot: certified, at: "settled" },
  { name: "nobody shows anything yet", snapshot: unissued({ stage: "recorded" }), at: "settled" },
  { name: "what is shown is not seen", snapshot: withSeen(certified, { server: unknown("no") }), at: "settled" },
  {
    name: "what is to be shown is not there",
    snapshot: goingTo(certified, { client: BROUGHT }),
    at: "waiting",
    why: "Secret foo/their-server, what members show to clients, is not there",
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
  {
    name: "applications have not been told",
    snapshot: given(told, { knownForMs: LONG }),
    at: "tell",
    why: "Secret my-etcd-client has to say for 150 s whom clients are to trust besides",
  },
  { name: "applications have been told both", snapshot: given(told, { trust: ofBoth, knownForMs: LONG }), at: "show" },
  {
    name: "applications have been told a moment too short",
    snapshot: given(told, { trust: ofBoth, knownForMs: LONG - 1 }),
    at: "tell",
  },
  { name: "what applications have is somebody else's", snapshot: given(told, { isOurs: false }), at: "show" },
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
    snapshot: given(over, { by: OWN }),
    at: "hand",
    why: "Secret my-etcd-client is signed by a former authority; delete it once",
  },
  { name: "applications show what the new one has signed", snapshot: given(over, applications), at: "settled" },
  {
    name: "not all of them may show it yet",
    snapshot: given(over, { ...applications, signerForMs: LONG - 1 }),
    at: "hand",
    why: "Secret my-etcd-client has to be for 150 s what applications show",
  },
  { name: "what they have by then is somebody else's", snapshot: given(over, { isOurs: false }), at: "settled" },
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
  { name: "members ask nobody for a certificate", snapshot: notAsking(shown), at: "settled" },
];

describe("how far members have come towards clients: when", () => {
  test.each(clients)("$name", ({ snapshot, at, why }) => {
    const course = courses(snapshot).client;
    expect(course.at).toBe(at);
    if (why !== undefined) expect("why" in course ? course.why : undefined).toContain(why);
  });
});

const peers: { name: string; snapshot: ClusterSnapshot; at: string; why?: string }[] = [
  { name: "what they show is what is asked for", snapshot: certified, at: "settled" },
  { name: "nobody trusts the new one yet", snapshot: leaving, at: "trust" },
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

/** From which Secret members get what they show, and by whose certificates they get to know others. */
function got(snapshot: ClusterSnapshot, side: "peer" | "client") {
  const has = memberTls(snapshot)?.[side];
  return [has?.secretName, new Set(certificatesIn(has?.trust ?? ""))];
}

const trusted = (...all: readonly { pem: string }[]) => new Set(certificatesIn(all.map(({ pem }) => pem).join("")));

const gets: { name: string; snapshot: ClusterSnapshot; secretName: string; trust: ReadonlySet<string> }[] = [
  {
    name: "waits gets what it has",
    snapshot: goingTo(certified, { client: BROUGHT }),
    secretName: "my-etcd-server-tls",
    trust: trusted(OWN),
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

test("what is asked for of one side is nothing to the other one", () => {
  expect(got(told, "peer")).toEqual(got(certified, "peer"));
  expect(got(turnedTrusting, "client")).toEqual(got(certified, "client"));
  expect(got(turnedTrusting, "peer")).toEqual(["their-peer", trusted(OWN, THEIRS)]);
});

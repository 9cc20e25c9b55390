import { describe, expect, test } from "vitest";
import { PEER_SCHEME_ANNOTATION } from "#api/names.ts";
import { templateIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import {
  dueUrl,
  halfway,
  listedBy,
  peerSide,
  reachableBy,
  schemeKept,
  whyNotReached,
  withoutPair,
} from "#cluster/certificates/scheme.ts";
import { memberNamed } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { claim } from "#kit/cluster.ts";
import { stranger, withEachMember, withMember } from "#kit/cluster-changes.ts";
import { peerOf, settled } from "#kit/cluster-steps.ts";
import { HAS, type Progress, switching, turnedTo, WITHOUT } from "#kit/cluster-switch.ts";
import { bundle, listedBy as listing, OWN } from "#kit/cluster-tls.ts";

// How members come to reach each other over TLS, and back, by what is seen.

const LAST = "my-etcd-2";
const issued = { secretName: "my-etcd-peer-tls", trust: bundle(OWN) };
const plain = { ...issued, scheme: "http" };
const going = (...has: Progress) => switching({}, has);
const coming = (...has: Progress) => switching(WITHOUT, has);
const allBoth = going("both", "both", "both");
const backBoth = coming("both", "both", "both");
const HOST = "my-etcd-2.my-etcd.foo.svc:2380";

function unlisted(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, members: unknown("nobody has a leader") };
}

/** Some member has yet to join. */
const joining: ClusterSnapshot = {
  ...allBoth,
  peers: allBoth.peers.map((peer, n) =>
    n < 2 ? peer : { ...peer, spec: { ...peer.spec, bootstrap: { initialClusterState: "New" } as never } },
  ),
};

const gets: { name: string; given: ClusterSnapshot; is: object | undefined }[] = [
  { name: "the first ones are reached over TLS", given: { ...allBoth, peers: [], pods: new Map() }, is: issued },
  { name: "who has none gets it, and is reached as before", given: going("nothing", "nothing", "nothing"), is: plain },
  { name: "until every one has it", given: going("both", "both", "nothing"), is: plain },
  { name: "and has joined", given: joining, is: plain },
  { name: "then they come to be reached over it", given: allBoth, is: issued },
  {
    name: "which goes on once one of them is, whoever comes in between",
    given: withMember(going("reached", "both", "both"), stranger()),
    is: issued,
  },
  {
    name: "but does not begin with somebody there who could dial none",
    given: withMember(allBoth, stranger()),
    is: plain,
  },
  { name: "back they come first to be reached without", given: coming("both", "both", "reached"), is: plain },
  { name: "nobody is to be reached over TLS any more", given: turnedTo(backBoth, LAST, "reached"), is: plain },
  { name: "in their pods", given: { ...backBoth, pods: coming("both", "both", "reached").pods }, is: plain },
  { name: "and by etcd's list", given: listing(backBoth, "https", [LAST]), is: plain },
  { name: "as far as that is known", given: unlisted(backBoth), is: plain },
  { name: "then they lose it", given: backBoth, is: undefined },
  {
    name: "for which nobody waits who has no EtcdPeer",
    given: listing({ ...backBoth, peers: backBoth.peers.slice(0, 2) }, "https", [LAST]),
    is: undefined,
  },
  {
    name: "which goes on once one has none, whatever is known",
    given: unlisted(coming("both", "both", "nothing")),
    is: undefined,
  },
];

describe("what members get towards each other:", () => {
  test.each(gets)("$name", ({ given, is }) => {
    expect(peerSide(given, issued)).toEqual(is);
  });

  test("nothing before it is issued", () => {
    expect(peerSide(allBoth, undefined)).toBeUndefined();
  });
});

const reaching: { name: string; given: ClusterSnapshot; of?: string; scheme: "http" | "https"; why?: string }[] = [
  { name: "the first one is reached over TLS once all could dial it", given: allBoth, scheme: "https" },
  {
    name: "not before",
    given: going("nothing", "both", "both"),
    scheme: "https",
    why: "my-etcd-0 could dial nobody over TLS",
  },
  { name: "back it comes whoever could dial nobody", given: coming("nothing", "both", "reached"), scheme: "http" },
  { name: "one at a time", given: turnedTo(allBoth, "my-etcd-0", "reached"), scheme: "https", why: "my-etcd-0 is not" },
  {
    name: "a learner never",
    given: withEachMember(allBoth, ({ name }) => ({ isLearner: name === LAST })),
    scheme: "https",
    why: "my-etcd-2 is a learner: etcd would take it for a voter",
  },
  { name: "nobody who has yet to join", given: joining, scheme: "https", why: "my-etcd-2 has not joined yet" },
  { name: "nobody while etcd tells of nobody", given: unlisted(allBoth), scheme: "https", why: "etcd cannot be asked" },
  { name: "but back to what it had", given: unlisted(turnedTo(allBoth, LAST, "reached")), scheme: "http" },
  {
    name: "and not to what it had not, whatever that was",
    given: unlisted({ ...turnedTo(going("both", "both", "nothing"), LAST, "both"), pods: allBoth.pods }),
    scheme: "https",
    why: "etcd cannot be asked",
  },
  { name: "the only one may be, whatever etcd tells", given: unlisted(first(1)), of: "my-etcd-0", scheme: "https" },
  {
    name: "one of two may not",
    given: unlisted(first(2)),
    of: "my-etcd-0",
    scheme: "https",
    why: "etcd cannot be asked",
  },
];

/** Of the members only the first ones are there, and ever were. */
function first(count: number): ClusterSnapshot {
  const { status } = allBoth.cluster;
  const identity = { ...status!.identity!, initialMembers: status!.identity!.initialMembers.slice(0, count) };
  const { members: _, ...known } = status!;
  const cluster = { ...allBoth.cluster, status: { ...known, identity } };
  return { ...allBoth, cluster, peers: allBoth.peers.slice(0, count) };
}

describe("who comes to be reached otherwise:", () => {
  test.each(reaching)("$name", ({ given, of = LAST, scheme, why }) => {
    const told = whyNotReached(given, peerOf(given, of), scheme);
    if (why === undefined) expect(told).toBeUndefined();
    else expect(told).toContain(why);
  });
});

test("etcd lists a member by one URL, or it is not told how it is reached", () => {
  const listed = (...peerUrls: string[]) => {
    const given = withEachMember(allBoth, ({ name, ...member }) => ({
      peerUrls: name === LAST ? peerUrls : member.peerUrls,
    }));
    return listedBy(given, memberNamed(given, LAST)!);
  };
  expect([listed(`http://${HOST}`), listed(`https://${HOST}`)]).toEqual(["http", "https"]);
  expect(listed(`http://${HOST}`, `https://${HOST}`)).toBeUndefined();
  expect(listed("http://elsewhere:2380")).toBeUndefined();
});

test("etcd is told of the member that its EtcdPeer is about, and of no other one that bears its name", () => {
  const turned = turnedTo(allBoth, LAST, "reached");
  const peer = peerOf(turned, LAST);
  expect(dueUrl(turned, peer)).toBe(`https://${HOST}`);
  expect(dueUrl(turned, { ...peer, spec: { ...peer.spec, memberID: "abc" } })).toBeUndefined();
  expect(dueUrl(listing(turned, "https", [LAST]), peer)).toBeUndefined();
});

test("a member is half way until its EtcdPeer, its pod and etcd say the same", () => {
  const turned = turnedTo(allBoth, LAST, "reached");
  expect(halfway(allBoth)).toEqual([]);
  expect(halfway(turned)).toEqual([LAST]);
  expect(halfway(listing(turned, "https", [LAST]))).toEqual([LAST]);
  expect(halfway(going("both", "both", "reached"))).toEqual([]);
});

test("who is to have nothing, or runs with nothing, could dial nobody over TLS", () => {
  const bare = going("both", "both", "nothing");
  expect(withoutPair(allBoth)).toEqual([]);
  expect(withoutPair({ ...bare, pods: allBoth.pods })).toEqual([LAST]);
  expect(withoutPair({ ...allBoth, pods: bare.pods })).toEqual([LAST]);
});

test("a template says otherwise only how its member is reached", () => {
  const template = templateIn(peerOf(allBoth, LAST).spec);
  const over = reachableBy(template, "https");
  expect(over.tls?.peer).toStrictEqual(issued);
  expect(reachableBy(over, "http")).toEqual(template);
  const { tls: _, ...bare } = template;
  expect(reachableBy(bare, "http", issued)).toBe(bare);
  expect(reachableBy(bare, "https", HAS.both.peer).tls?.peer).toStrictEqual(issued);
});

test("who comes back is reached as etcd lists it, or else as its claim says, or as the first ones were", () => {
  const claims = [said(claim("my-etcd-0"), "https"), claim(LAST)];
  const gone = (snapshot: ClusterSnapshot) => ({ ...unlisted(snapshot), claims });
  expect(schemeKept({ ...going("both", "both", "reached"), claims }, LAST)).toBe("https");
  expect(schemeKept(gone(settled), LAST)).toBe("http");
  expect(schemeKept(gone(settled), "my-etcd-0")).toBe("https");
  expect(schemeKept(gone(settled), "my-etcd-1")).toBe("http");
  const { cluster } = settled;
  const identity = { ...cluster.status!.identity!, peerScheme: "https" as const };
  const born = { ...settled, cluster: { ...cluster, status: { ...cluster.status, identity } } };
  expect(schemeKept(gone(born), "my-etcd-1")).toBe("https");
});

/** The claim tells how others reach its member. */
function said(one: ReturnType<typeof claim>, scheme: string): ReturnType<typeof claim> {
  const annotations = { ...one.metadata.annotations, [PEER_SCHEME_ANNOTATION]: scheme };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

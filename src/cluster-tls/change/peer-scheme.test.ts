import { describe, expect, test } from "vitest";
import { PEER_SCHEME_ANNOTATION } from "#api/names.ts";
import { templateIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import { memberNamed } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { claim } from "#kit/snapshots/cluster.ts";
import { stranger, withEachMember, withMember } from "#kit/snapshots/cluster-changes.ts";
import { peerOf, settled } from "#kit/snapshots/cluster-steps.ts";
import { bundle, listedBy as listing, OWN } from "#kit/snapshots/cluster-tls.ts";
import { HAS, type Progress, switching, turnedTo, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import {
  dueUrl,
  listedBy,
  membersChangingScheme,
  membersWithoutCertificate,
  peerSchemeChange,
  peerSide,
  recordedScheme,
  whySchemeMustStay,
  withPeerScheme,
} from "./peer-scheme.ts";

// How peer URLs change to https and back, for single observations.

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
  { name: "the first members have https URLs", given: { ...allBoth, peers: [], pods: new Map() }, is: issued },
  {
    name: "the first members have https URLs although TLS is turned off",
    given: { ...backBoth, peers: [], pods: new Map() },
    is: issued,
  },
  {
    name: "members without a certificate get one and keep their http URLs",
    given: going("nothing", "nothing", "nothing"),
    is: plain,
  },
  {
    name: "members keep http URLs until every member has a certificate",
    given: going("both", "both", "nothing"),
    is: plain,
  },
  {
    name: "a member without a certificate keeps its http URL while it alone has an EtcdPeer",
    given: { ...going("nothing", "nothing", "nothing"), peers: going("nothing", "both", "both").peers.slice(0, 1) },
    is: plain,
  },
  { name: "members keep http URLs until every member has joined", given: joining, is: plain },
  { name: "members get https URLs once all have certificates", given: allBoth, is: issued },
  {
    name: "the change to https continues once one URL is https, although a new member has no certificate",
    given: withMember(going("reached", "both", "both"), stranger()),
    is: issued,
  },
  {
    name: "the change to https does not begin while a member that was added by hand may not dial over TLS",
    given: withMember(allBoth, stranger()),
    is: plain,
  },
  {
    name: "peer URLs become http before certificates are removed",
    given: coming("both", "both", "reached"),
    is: plain,
  },
  {
    name: "certificates stay until no EtcdPeer has an https URL",
    given: turnedTo(backBoth, LAST, "reached"),
    is: plain,
  },
  {
    name: "certificates stay until no pod has an https URL",
    given: { ...backBoth, pods: coming("both", "both", "reached").pods },
    is: plain,
  },
  {
    name: "certificates stay until etcd's list has no https URL",
    given: listing(backBoth, "https", [LAST]),
    is: plain,
  },
  { name: "certificates stay while etcd's list is unknown", given: unlisted(backBoth), is: plain },
  { name: "certificates are removed after the last https URL", given: backBoth, is: undefined },
  {
    name: "members without TLS get no certificate although one exists",
    given: coming("nothing", "nothing", "nothing"),
    is: undefined,
  },
  {
    name: "certificates are removed although a member without EtcdPeer has an https URL",
    given: listing({ ...backBoth, peers: backBoth.peers.slice(0, 2) }, "https", [LAST]),
    is: undefined,
  },
  {
    name: "the removal of certificates continues without a member list once one member has no certificate",
    given: unlisted(coming("both", "both", "nothing")),
    is: undefined,
  },
];

describe("the peer side of the member template:", () => {
  test.each(gets)("$name", ({ given, is }) => {
    expect(peerSide(given, issued)).toEqual(is);
  });

  test("is empty before certificates are issued", () => {
    expect(peerSide(allBoth, undefined)).toBeUndefined();
  });
});

const reaching: { name: string; given: ClusterSnapshot; of?: string; scheme: "http" | "https"; why?: string }[] = [
  { name: "a member may change to https once all members have certificates", given: allBoth, scheme: "https" },
  {
    name: "a member may not change to https while another has no certificate",
    given: going("nothing", "both", "both"),
    scheme: "https",
    why: "my-etcd-0 could not dial other members over TLS",
  },
  {
    name: "a member may change to http while another has no certificate",
    given: coming("nothing", "both", "reached"),
    scheme: "http",
  },
  {
    name: "a member may not change while another member is changing",
    given: turnedTo(allBoth, "my-etcd-0", "reached"),
    scheme: "https",
    why: "my-etcd-0 does not listen",
  },
  {
    name: "a learner may not change",
    given: withEachMember(allBoth, ({ name }) => ({ isLearner: name === LAST })),
    scheme: "https",
    why: "my-etcd-2 is a learner: a new peer URL would make etcd count it as a voter",
  },
  {
    name: "a member that has not joined may not change",
    given: joining,
    scheme: "https",
    why: "my-etcd-2 has not joined yet",
  },
  {
    name: "a member may not change without a member list",
    given: unlisted(allBoth),
    scheme: "https",
    why: "member list is not known",
  },
  {
    name: "a rollback may change a member to its previous scheme without a member list",
    given: begin(allBoth).apply(turnedTo, LAST, "reached").apply(unlisted).snapshot,
    scheme: "http",
  },
  {
    name: "a rollback may not change a member to a new scheme without a member list",
    given: unlisted({ ...turnedTo(going("both", "both", "nothing"), LAST, "both"), pods: allBoth.pods }),
    scheme: "https",
    why: "member list is not known",
  },
  {
    name: "the only member may change without a member list",
    given: unlisted(first(1)),
    of: "my-etcd-0",
    scheme: "https",
  },
  {
    name: "one of two members may not change without a member list",
    given: unlisted(first(2)),
    of: "my-etcd-0",
    scheme: "https",
    why: "member list is not known",
  },
];

/** Only the first members exist, and no others ever did. */
function first(count: number): ClusterSnapshot {
  const { status } = allBoth.cluster;
  const identity = { ...status!.identity!, initialMembers: status!.identity!.initialMembers.slice(0, count) };
  const { members: _, ...known } = status!;
  const cluster = { ...allBoth.cluster, status: { ...known, identity } };
  return { ...allBoth, cluster, peers: allBoth.peers.slice(0, count) };
}

describe("a change of the peer scheme:", () => {
  test.each(reaching)("$name", ({ given, of = LAST, scheme, why }) => {
    const told = whySchemeMustStay(given, peerOf(given, of), scheme);
    if (why === undefined) expect(told).toBeUndefined();
    else expect(told).toContain(why);
  });
});

test("listedBy returns a scheme only for a single peer URL that the operator set", () => {
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

test("etcd's list changes only for the member with the ID of the EtcdPeer", () => {
  const turned = turnedTo(allBoth, LAST, "reached");
  const peer = peerOf(turned, LAST);
  expect(dueUrl(turned, peer)).toBe(`https://${HOST}`);
  expect(dueUrl(turned, { ...peer, spec: { ...peer.spec, memberID: "abc" } })).toBeUndefined();
  expect(dueUrl(listing(turned, "https", [LAST]), peer)).toBeUndefined();
});

test("a member counts as changing until EtcdPeer, pod and etcd's member list agree", () => {
  const turned = turnedTo(allBoth, LAST, "reached");
  expect(membersChangingScheme(allBoth)).toEqual([]);
  expect(membersChangingScheme(turned)).toEqual([LAST]);
  expect(membersChangingScheme(listing(turned, "https", [LAST]))).toEqual([LAST]);
  expect(membersChangingScheme(going("both", "both", "reached"))).toEqual([]);
});

test("a member without a certificate in its EtcdPeer or pod cannot dial over TLS", () => {
  const bare = going("both", "both", "nothing");
  expect(membersWithoutCertificate(allBoth)).toEqual([]);
  expect(membersWithoutCertificate({ ...bare, pods: allBoth.pods })).toEqual([LAST]);
  expect(membersWithoutCertificate({ ...allBoth, pods: bare.pods })).toEqual([LAST]);
});

test("the peer scheme of a cluster without EtcdPeers does not change", () => {
  expect(peerSchemeChange({ ...going("nothing", "nothing", "nothing"), peers: [] })).toBeUndefined();
});

test("withPeerScheme changes only the peer scheme of a template", () => {
  const template = templateIn(peerOf(allBoth, LAST).spec);
  const over = withPeerScheme(template, "https");
  expect(over.tls?.peer).toStrictEqual(issued);
  expect(withPeerScheme(over, "http")).toEqual(template);
  const { tls: _, ...bare } = template;
  expect(withPeerScheme(bare, "http", issued)).toBe(bare);
  expect(withPeerScheme(bare, "https", HAS.both.peer).tls?.peer).toStrictEqual(issued);
});

test("a recreated member has the scheme that etcd lists, or else that of its claim, or of the identity", () => {
  const claims = [said(claim("my-etcd-0"), "https"), claim(LAST)];
  const gone = (snapshot: ClusterSnapshot) => ({ ...unlisted(snapshot), claims });
  expect(recordedScheme({ ...going("both", "both", "reached"), claims }, LAST)).toBe("https");
  expect(recordedScheme(gone(settled), LAST)).toBe("http");
  expect(recordedScheme(gone(settled), "my-etcd-0")).toBe("https");
  expect(recordedScheme(gone(settled), "my-etcd-1")).toBe("http");
  const { cluster } = settled;
  const identity = { ...cluster.status!.identity!, peerScheme: "https" as const };
  const born = { ...settled, cluster: { ...cluster, status: { ...cluster.status, identity } } };
  expect(recordedScheme(gone(born), "my-etcd-1")).toBe("https");
});

/** The claim with this peer scheme. */
function said(one: ReturnType<typeof claim>, scheme: string): ReturnType<typeof claim> {
  const annotations = { ...one.metadata.annotations, [PEER_SCHEME_ANNOTATION]: scheme };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

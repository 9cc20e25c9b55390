import { expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { arriving } from "#cluster/learners.ts";
import {
  hasJoined,
  intendedPeers,
  isFenced,
  knownMembers,
  leaderOf,
  mayBootstrap,
  nextPeerName,
  sick,
  votersOf,
} from "#cluster/members.ts";
import {
  lostForMs,
  podlessForMs,
  sickForMs,
  silentForMs,
  triedForMs,
  unfitForMs,
  unreadyForMs,
} from "#cluster/patience.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { surplusVoter } from "#cluster/surplus.ts";
import { type Member, memberIdFromHex } from "#etcd/types.ts";
import {
  claim,
  claimIdentity,
  cluster,
  LATER_ID,
  NOW,
  pod,
  unpublished,
  withArrival,
  withoutMember,
} from "#kit/cluster.ts";
import { stranger, withDyingClaims, withMembers } from "#kit/cluster-changes.ts";

const settled = cluster();
const ids = settled.cluster.status!.identity!.initialMembers.map(({ id }) => id);

/** The snapshot with these members in etcd's list, and no others. */
function listing(snapshot: ClusterSnapshot, ...members: readonly Partial<Member>[]): ClusterSnapshot {
  return withMembers(snapshot, members.map(stranger));
}

function listOf({ members }: ClusterSnapshot): readonly Member[] {
  return members.is === "present" ? members.value.members : [];
}

/** The snapshot without an answer about who is a member, and with this on record. */
function recording(
  snapshot: ClusterSnapshot,
  recorded: readonly { name: string; id: string; learner: boolean }[],
): ClusterSnapshot {
  const members = recorded.map((member) => ({ ...member, healthy: false, leader: false }));
  const status = { ...snapshot.cluster.status, members };
  return {
    ...snapshot,
    cluster: { ...snapshot.cluster, status },
    members: { is: "unknown", why: "nobody has a leader" },
  };
}

function told(snapshot: ClusterSnapshot): readonly string[] {
  return knownMembers(snapshot).map(({ name, id, isLearner, hasStarted, isOurs }) =>
    [
      name,
      id,
      isLearner ? "learner" : "voter",
      hasStarted ? "started" : "not started",
      isOurs ? "ours" : "theirs",
    ].join(" "),
  );
}

const STARTED = { clientUrls: ["http://anywhere:2379"] };
const OUR_URL = "http://my-etcd-3.my-etcd.foo.svc:2380";
/** Members of this cluster reach each other by https, whatever its spec says by now. */
const overTls: ClusterSnapshot = {
  ...settled,
  peers: settled.peers.map((peer) => ({
    ...peer,
    spec: { ...peer.spec, tls: { peer: { secretName: "a", trust: "b" } } },
  })),
  cluster: {
    ...settled.cluster,
    status: { ...settled.cluster.status, identity: { ...settled.cluster.status!.identity!, peerScheme: "https" } },
  },
};
/** They do by now, and did not when the cluster was formed. */
const goneOver: ClusterSnapshot = { ...overTls, cluster: settled.cluster };
const known: { name: string; from?: ClusterSnapshot; given: Partial<Member>; expect: string }[] = [
  {
    name: "under a URL of its own is called what it is called, with its ID",
    given: { name: "theirs", peerUrls: ["http://elsewhere:2380"], ...STARTED },
    expect: "theirs.f00 f00 voter started theirs",
  },
  {
    name: "without a name is called by its host",
    given: { peerUrls: ["http://elsewhere:2380"] },
    expect: "elsewhere.f00 f00 voter not started theirs",
  },
  {
    name: "with a URL that is none is called by that",
    given: { peerUrls: ["nonsense"] },
    expect: "nonsense.f00 f00 voter not started theirs",
  },
  { name: "without a URL has no name", given: {}, expect: "f00 f00 voter not started theirs" },
  {
    name: "that has the name of ours, under another URL, is not ours",
    given: { name: "my-etcd-3", peerUrls: ["http://my-etcd-3.elsewhere:2380"], ...STARTED },
    expect: "my-etcd-3.f00 f00 voter started theirs",
  },
  {
    name: "below our domain, whose name no peer can have, is not ours",
    given: { name: "theirs", peerUrls: ["http://guest.my-etcd.foo.svc:2380"] },
    expect: "theirs.f00 f00 voter not started theirs",
  },
  {
    name: "that was added under a URL of ours is ours before anybody has met it",
    given: { peerUrls: [OUR_URL], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "that was added under a URL that would be ours if members spoke TLS is theirs",
    given: { peerUrls: [OUR_URL.replace("http:", "https:")], isLearner: true },
    expect: "my-etcd-3.my-etcd.foo.svc.f00 f00 learner not started theirs",
  },
  {
    name: "that was added under a URL of ours is ours, where members speak TLS",
    from: overTls,
    given: { peerUrls: [OUR_URL.replace("http:", "https:")], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "that was added without TLS, where members speak it, is theirs",
    from: overTls,
    given: { peerUrls: [OUR_URL], isLearner: true },
    expect: "my-etcd-3.my-etcd.foo.svc.f00 f00 learner not started theirs",
  },
  {
    name: "that was added over TLS, to which members have gone by now, is ours",
    from: goneOver,
    given: { peerUrls: [OUR_URL.replace("http:", "https:")], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "and so is one that was added before they had",
    from: goneOver,
    given: { peerUrls: [OUR_URL], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "has started when it has told where it serves clients, with or without a name",
    given: { peerUrls: [OUR_URL], ...STARTED },
    expect: "my-etcd-3 f00 voter started ours",
  },
  {
    name: "that has the ID of a peer is that peer's member, whatever its URL",
    from: withArrival(settled, "my-etcd-3", "started"),
    given: { id: memberIdFromHex(LATER_ID), name: "renamed", peerUrls: ["http://elsewhere:2380"] },
    expect: `my-etcd-3 ${LATER_ID} voter not started ours`,
  },
  {
    name: "that has the ID of a first member is that one, also when its peer is gone",
    from: { ...settled, peers: [], claims: [] },
    given: { id: memberIdFromHex(ids[1]!), name: "renamed", peerUrls: [OUR_URL] },
    expect: `my-etcd-1 ${ids[1]} voter not started ours`,
  },
  {
    name: "that has the ID of a claim is that claim's member, also when its peer is gone",
    from: { ...settled, claims: [...settled.claims, claim("my-etcd-4", claimIdentity("abc", "f00"))] },
    given: { name: "renamed", peerUrls: [OUR_URL] },
    expect: "my-etcd-4 f00 voter not started ours",
  },
];
for (const { name, from = settled, given, expect: wanted } of known) {
  test(`members: one ${name}`, () => expect(told(listing(from, given))).toEqual([wanted]));
}

test("members: they stand in the order of their ordinals, whatever the order of the list, strangers last", () => {
  const stranger: Partial<Member> = { name: "a", peerUrls: ["http://a:2380"] };
  const names = knownMembers(listing(settled, stranger, ...listOf(settled).toReversed())).map(({ name }) => name);
  expect(names).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2", "a.f00"]);
});

test("members: whom etcd cannot be asked about are those on record", () => {
  const given = recording(cluster({ replicas: 1 }), [
    { name: "my-etcd-1", id: "abc", learner: false },
    { name: "my-etcd-2", id: "def", learner: true },
    { name: "theirs", id: "f00", learner: false },
  ]);
  expect(told(given)).toEqual([
    "my-etcd-1 abc voter started ours",
    "my-etcd-2 def learner not started ours",
    "theirs f00 voter started theirs",
  ]);
  expect(told(recording(settled, [{ name: "my-etcd-3", id: "abc", learner: false }]))).toEqual([
    "my-etcd-3 abc voter started ours",
  ]);
});

test("members: of a cluster that forms, and of one of which nothing is on record, they are those of the frozen list", () => {
  const partly = [{ name: "my-etcd-0", id: ids[0]!, learner: false }];
  expect(told(recording(cluster({ stage: "starting" }), partly))).toEqual(
    ids.map((id, n) => `my-etcd-${n} ${id} voter not started ours`),
  );
  expect(told(recording(settled, []))).toEqual(ids.map((id, n) => `my-etcd-${n} ${id} voter started ours`));
});

test("members: a voter that a person added and that has not started is arriving, too", () => {
  const added = { peerUrls: ["http://my-etcd-3.my-etcd.foo.svc:2380"] };
  expect(arriving(listing(settled, ...listOf(settled), added)).map(({ name }) => name)).toEqual(["my-etcd-3"]);
  expect(arriving(withArrival(settled, "my-etcd-3", "started")).map(({ name }) => name)).toEqual(["my-etcd-3"]);
  expect(arriving(settled)).toEqual([]);
  const late = listOf(settled).map((member, n) => (n === 2 ? { ...member, clientUrls: [] } : member));
  expect(arriving(listing(settled, ...late))).toEqual([]); // a first member was there from the beginning
});

test("members: of too many the sick goes first, then whose claim goes, then who does not serve, then the highest ordinal", () => {
  const wanting = (replicas: number, snapshot: ClusterSnapshot): ClusterSnapshot => ({
    ...snapshot,
    cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, replicas } },
  });
  const nameOf = (snapshot: ClusterSnapshot) => surplusVoter(wanting(2, snapshot))?.name;
  const silent = (snapshot: ClusterSnapshot, name: string): ClusterSnapshot => ({
    ...snapshot,
    endpoints: new Map([...snapshot.endpoints].filter(([each]) => each !== name)),
    pods: new Map([...snapshot.pods, [name, pod(name, { ready: false })]]),
  });
  const unreachable = { ...silent(settled, "my-etcd-0"), pods: settled.pods };
  expect(nameOf(unreachable)).toBe("my-etcd-2"); // the kubelet calls it ready: only the operator cannot reach it
  const lastUnreachable = { ...silent(settled, "my-etcd-2"), pods: settled.pods };
  expect(nameOf(lastUnreachable)).toBe("my-etcd-2"); // nor does that spare it
  expect(nameOf(settled)).toBe("my-etcd-2");
  expect(nameOf(silent(settled, "my-etcd-0"))).toBe("my-etcd-0");
  expect(nameOf(unpublished(settled, "my-etcd-0", ids[0]))).toBe("my-etcd-0");
  expect(nameOf(silent(unpublished(settled, "my-etcd-2", ids[2]), "my-etcd-1"))).toBe("my-etcd-1");
  expect(surplusVoter(settled)).toBeUndefined();
  // Whose claim somebody has deleted is without its data soon: it is worth less than all others that are up.
  const dying = withDyingClaims(settled, "my-etcd-0");
  expect(nameOf(dying)).toBe("my-etcd-0");
  expect(nameOf(withDyingClaims(unreachable, "my-etcd-0"))).toBe("my-etcd-0");
  expect(nameOf(unpublished(dying, "my-etcd-2", ids[2]))).toBe("my-etcd-0");
  expect(nameOf(silent(dying, "my-etcd-1"))).toBe("my-etcd-1");
  expect(nameOf(silent(withDyingClaims(settled, "my-etcd-2"), "my-etcd-1"))).toBe("my-etcd-1");
  expect(nameOf(silent(withDyingClaims(settled, "my-etcd-0", "my-etcd-2"), "my-etcd-0"))).toBe("my-etcd-0");
});

test("members: one that a person added under a URL of their own is never chosen to go", () => {
  const theirs = { name: "theirs", peerUrls: ["http://elsewhere:2380"] };
  expect(surplusVoter(listing(settled, ...listOf(settled), theirs))).toBeUndefined(); // nor does it cost one of ours
  const few = { ...settled.cluster, spec: { ...settled.cluster.spec, replicas: 2 } };
  expect(surplusVoter(listing({ ...settled, cluster: few }, ...listOf(settled), theirs))?.name).toBe("my-etcd-2");
});

test("members: who leads is told by the first that answers", () => {
  expect(leaderOf(cluster({ leader: "my-etcd-2", down: ["my-etcd-0"] }))?.name).toBe("my-etcd-2");
  expect(leaderOf(cluster({ stage: "starting" }))).toBeUndefined();
});

test("members: of whom nothing has been seen, nothing bad has been seen", () => {
  const [member] = knownMembers(settled);
  expect(
    [sickForMs, lostForMs, silentForMs, unfitForMs, unreadyForMs, triedForMs, podlessForMs].map((ask) =>
      ask(settled, member!),
    ),
  ).toEqual([0, 0, 0, 0, 0, 0, 0]);
  const history = {
    knownForMs: 9,
    sickForMs: 1,
    wellMsAgo: undefined,
    lostForMs: 2,
    silentForMs: 3,
    unfitForMs: 4,
    triedForMs: 6,
    podlessForMs: 7,
    unreadyForMs: 5,
  };
  const seen = { ...settled, histories: new Map([[ids[0]!, history]]) };
  expect(
    [sickForMs, lostForMs, silentForMs, unfitForMs, unreadyForMs, triedForMs, podlessForMs].map((ask) =>
      ask(seen, member!),
    ),
  ).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

/** A peer of this name that has been going away for so long. */
function going(name: string, forMs: number): EtcdPeer {
  const [peer] = withArrival(settled, "my-etcd-3", "intended").peers.slice(-1);
  const deletionTimestamp = new Date(NOW - forMs).toISOString();
  return { ...peer!, metadata: { ...peer!.metadata, name, deletionTimestamp } };
}

const naming: { name: string; given: ClusterSnapshot; expect: string; leaving?: true }[] = [
  { name: "is the lowest that is free", given: settled, expect: "my-etcd-3" },
  {
    name: "may be that of who has left without a trace",
    given: { ...withoutMember(settled, "my-etcd-0"), peers: settled.peers.slice(1), claims: settled.claims.slice(1) },
    expect: "my-etcd-0",
  },
  {
    name: "is not that of a member, even of one that has neither peer nor claim",
    given: { ...settled, peers: [], claims: [] },
    expect: "my-etcd-3",
  },
  {
    name: "is not that of a peer that stays",
    given: {
      ...settled,
      peers: [...settled.peers, { ...going("my-etcd-3", 0), metadata: { name: "my-etcd-3" } } as EtcdPeer],
    },
    expect: "my-etcd-4",
  },
  {
    name: "is not that of a peer that another cluster owns",
    given: { ...settled, foreignPeers: [{ ...going("my-etcd-3", 0), metadata: { name: "my-etcd-3" } } as EtcdPeer] },
    expect: "my-etcd-4",
  },
  {
    name: "is not that of a claim that was kept",
    given: { ...settled, claims: [...settled.claims, claim("my-etcd-3")] },
    expect: "my-etcd-4",
  },
  {
    name: "is waited for while it is becoming free",
    given: { ...settled, peers: [...settled.peers, going("my-etcd-3", 59_999)] },
    expect: "my-etcd-3",
    leaving: true,
  },
  {
    name: "is passed over when it does not become free within a minute",
    given: { ...settled, peers: [...settled.peers, going("my-etcd-3", 60_000)] },
    expect: "my-etcd-4",
  },
  {
    name: "is passed over when only the peer is going, not its claim",
    given: { ...settled, peers: [...settled.peers, going("my-etcd-3", 0)], claims: [claim("my-etcd-3")] },
    expect: "my-etcd-4",
  },
];
for (const { name, given, expect: wanted, leaving = false } of naming) {
  test(`members: the next name ${name}`, () => expect(nextPeerName(given)).toEqual({ name: wanted, leaving }));
}

test("members: an intent is to join a cluster that is there, and has no member ID yet", () => {
  const { peers } = withArrival(settled, "my-etcd-3", "intended");
  const others = [...cluster({ stage: "starting" }).peers, ...withArrival(settled, "my-etcd-4", "started").peers];
  const nameless = others.map((peer): EtcdPeer => ({ ...peer, spec: withoutId(peer.spec) }));
  const founders = nameless.filter(({ spec }) => spec.bootstrap?.initialClusterState !== "Existing");
  expect(intendedPeers({ ...settled, peers: [...others, ...founders, ...peers] })).toEqual(peers.slice(-1));
});

function withoutId({ memberID: _, ...spec }: EtcdPeer["spec"]): EtcdPeer["spec"] {
  return spec;
}

test("members: fenced is who has a peer that may only restart", () => {
  expect(isFenced(settled, "my-etcd-0")).toBe(true);
  expect(isFenced(cluster({ stage: "joined" }), "my-etcd-0")).toBe(false);
  expect(isFenced(settled, "my-etcd-3")).toBe(false);
  const running = new Map([...settled.pods, ["my-etcd-0", pod("my-etcd-0", { ready: true, fenced: false })] as const]);
  expect(isFenced({ ...settled, pods: running }, "my-etcd-0")).toBe(false);
  expect(isFenced({ ...settled, pods: new Map() }, "my-etcd-0")).toBe(false);
  expect(isFenced({ ...settled, peers: [] }, "my-etcd-0")).toBe(false);
});

test("members: a first member may be started for the first time by its name and its ID, and only until it has joined", () => {
  const forming = cluster({ stage: "starting" });
  const identity = forming.cluster.status!.identity!;
  const initialMembers = identity.initialMembers.map((member, n) => ({ ...member, joined: n === 0 }));
  const status = { ...forming.cluster.status, identity: { ...identity, initialMembers } };
  const partly = { ...forming, cluster: { ...forming.cluster, status } };
  expect(mayBootstrap(partly, { name: "my-etcd-1", id: ids[1]! })).toBe(true);
  expect(mayBootstrap(partly, { name: "my-etcd-0", id: ids[0]! })).toBe(false);
  expect(mayBootstrap(partly, { name: "my-etcd-1", id: ids[2]! })).toBe(false);
  expect(mayBootstrap(partly, { name: "my-etcd-1", id: LATER_ID })).toBe(false);
  expect(mayBootstrap(partly, { name: "my-etcd-7", id: ids[1]! })).toBe(false);
});

test("members: that a first member has joined is not told by the record, but by itself or by etcd", () => {
  const [, , third] = settled.cluster.status!.identity!.initialMembers;
  const silent = { ...settled, endpoints: new Map([...settled.endpoints].filter(([name]) => name !== third!.name)) };
  const recorded = [{ name: third!.name, id: third!.id, learner: false }];
  expect(hasJoined(settled, third!)).toBe(true);
  expect(hasJoined(silent, third!)).toBe(true);
  expect(hasJoined({ ...recording(silent, recorded) }, third!)).toBe(false);
});

test("members: those of somebody else are nobody's patients", () => {
  const theirs = { name: "theirs", peerUrls: ["http://elsewhere:2380"] };
  expect(sick(listing(settled, ...listOf(settled), theirs))).toEqual([]);
  expect(sick(cluster({ down: ["my-etcd-1"] })).map(({ name }) => name)).toEqual(["my-etcd-1"]);
});

test("members: learners have no vote", () => {
  expect(votersOf(withArrival(settled, "my-etcd-3", "synced")).map(({ id }) => id)).toEqual(ids);
  expect(ids).not.toContain(LATER_ID);
});

import { expect, test } from "vitest";
import type { MemberStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
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
} from "#kit/snapshots/cluster.ts";
import { stranger, withDyingClaims, withMembers } from "#kit/snapshots/cluster-changes.ts";
import { joiningMembers } from "./learners.ts";
import {
  hasJoined,
  intendedPeers,
  isFenced,
  knownMembers,
  leaderOf,
  mayBootstrap,
  memberById,
  nextPeerName,
  sick,
  votersOf,
} from "./members.ts";
import { surplusVoter } from "./surplus.ts";

const settled = cluster();
const ids = settled.cluster.status!.identity!.initialMembers.map(({ id }) => id);

/** The snapshot with these members in etcd's list, and no others. */
function listing(snapshot: ClusterSnapshot, ...members: readonly Partial<Member>[]): ClusterSnapshot {
  return withMembers(snapshot, members.map(stranger));
}

function listOf({ members }: ClusterSnapshot): readonly Member[] {
  return members.is === "present" ? members.value.members : [];
}

/** The snapshot without a member list, and with this status. */
function recording(
  snapshot: ClusterSnapshot,
  recorded: readonly { name: string; id: string; role: MemberStatus["role"] }[],
): ClusterSnapshot {
  const members = recorded.map((member) => ({ ...member, health: "Unhealthy" as const }));
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
/** Members of this cluster use https, whatever the current spec has. */
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
/** They use https now, and did not when the cluster was formed. */
const switched: ClusterSnapshot = { ...overTls, cluster: settled.cluster };
const known: { name: string; from?: ClusterSnapshot; given: Partial<Member>; expect: string }[] = [
  {
    name: "with a foreign URL has its own name with its ID appended",
    given: { name: "theirs", peerUrls: ["http://elsewhere:2380"], ...STARTED },
    expect: "theirs.f00 f00 voter started theirs",
  },
  {
    name: "without a name has the host of its URL as its name",
    given: { peerUrls: ["http://elsewhere:2380"] },
    expect: "elsewhere.f00 f00 voter not started theirs",
  },
  {
    name: "with an invalid URL has the URL as its name",
    given: { peerUrls: ["nonsense"] },
    expect: "nonsense.f00 f00 voter not started theirs",
  },
  { name: "without a name or URL has its ID as its name", given: {}, expect: "f00 f00 voter not started theirs" },
  {
    name: "with a managed name and another URL is foreign",
    given: { name: "my-etcd-3", peerUrls: ["http://my-etcd-3.elsewhere:2380"], ...STARTED },
    expect: "my-etcd-3.f00 f00 voter started theirs",
  },
  {
    name: "with a URL in the cluster's domain but no managed name is foreign",
    given: { name: "theirs", peerUrls: ["http://guest.my-etcd.foo.svc:2380"] },
    expect: "theirs.f00 f00 voter not started theirs",
  },
  {
    name: "with a managed URL is managed before it has started",
    given: { peerUrls: [OUR_URL], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "with the https form of a managed URL is foreign in a cluster without TLS",
    given: { peerUrls: [OUR_URL.replace("http:", "https:")], isLearner: true },
    expect: "my-etcd-3.my-etcd.foo.svc.f00 f00 learner not started theirs",
  },
  {
    name: "with the https form of a managed URL is managed in a cluster with TLS",
    from: overTls,
    given: { peerUrls: [OUR_URL.replace("http:", "https:")], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "with the http form of a managed URL is foreign in a cluster formed with TLS",
    from: overTls,
    given: { peerUrls: [OUR_URL], isLearner: true },
    expect: "my-etcd-3.my-etcd.foo.svc.f00 f00 learner not started theirs",
  },
  {
    name: "with the https form of a managed URL is managed after a switch to TLS",
    from: switched,
    given: { peerUrls: [OUR_URL.replace("http:", "https:")], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "with the http form of a managed URL is managed after a switch to TLS",
    from: switched,
    given: { peerUrls: [OUR_URL], isLearner: true },
    expect: "my-etcd-3 f00 learner not started ours",
  },
  {
    name: "without a name has started when it has client URLs",
    given: { peerUrls: [OUR_URL], ...STARTED },
    expect: "my-etcd-3 f00 voter started ours",
  },
  {
    name: "with the ID of an EtcdPeer belongs to that EtcdPeer, whatever its URL",
    from: withArrival(settled, "my-etcd-3", "started"),
    given: { id: memberIdFromHex(LATER_ID), name: "renamed", peerUrls: ["http://elsewhere:2380"] },
    expect: `my-etcd-3 ${LATER_ID} voter not started ours`,
  },
  {
    name: "with the ID of an initial member is that initial member, even without an EtcdPeer",
    from: { ...settled, peers: [], claims: [] },
    given: { id: memberIdFromHex(ids[1]!), name: "renamed", peerUrls: [OUR_URL] },
    expect: `my-etcd-1 ${ids[1]} voter not started ours`,
  },
  {
    name: "with several claims for its ID has the name in its URL",
    from: {
      ...settled,
      claims: ["my-etcd-7", "my-etcd-4", "copy-of-my-etcd-4"].map((name) => claim(name, claimIdentity("abc", "f00"))),
    },
    given: { peerUrls: [OUR_URL.replace("my-etcd-3.", "my-etcd-4.")] },
    expect: "my-etcd-4 f00 voter not started ours",
  },
  {
    name: "does not get its name from a claim with a name outside the cluster's pattern",
    from: { ...settled, claims: [claim("copy-of-my-etcd-4", claimIdentity("abc", "f00"))] },
    given: { peerUrls: [OUR_URL.replace("my-etcd-3.", "my-etcd-4.")] },
    expect: "my-etcd-4 f00 voter not started ours",
  },
  {
    name: "with the ID of a claim has the claim's name, even without an EtcdPeer",
    from: { ...settled, claims: [...settled.claims, claim("my-etcd-4", claimIdentity("abc", "f00"))] },
    given: { name: "renamed", peerUrls: [OUR_URL] },
    expect: "my-etcd-4 f00 voter not started ours",
  },
];
for (const { name, from = settled, given, expect: wanted } of known) {
  test(`members: a listed member ${name}`, () => expect(told(listing(from, given))).toEqual([wanted]));
}

test("members: during adoption the known members are those of the identity, not of the status", () => {
  const silent = recording(settled, [{ name: "my-etcd-0", id: ids[0]!, role: "Voter" }]);
  expect(told(silent)).toEqual([`my-etcd-0 ${ids[0]} voter started ours`]);
  const { status } = silent.cluster;
  const identity = { ...status!.identity!, adopting: true };
  const adopting = { ...silent, cluster: { ...silent.cluster, status: { ...status, identity } } };
  expect(told(adopting)).toEqual(ids.map((id, n) => `my-etcd-${n} ${id} voter started ours`));
});

test("members: known members are sorted by ordinal, with foreign members last", () => {
  const stranger: Partial<Member> = { name: "a", peerUrls: ["http://a:2380"] };
  const names = knownMembers(listing(settled, stranger, ...listOf(settled).toReversed())).map(({ name }) => name);
  expect(names).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2", "a.f00"]);
});

test("members: without a member list from etcd the known members are those of the status", () => {
  const given = recording(cluster({ replicas: 1 }), [
    { name: "my-etcd-1", id: "abc", role: "Voter" },
    { name: "my-etcd-2", id: "def", role: "Learner" },
    { name: "theirs", id: "f00", role: "Voter" },
  ]);
  expect(told(given)).toEqual([
    "my-etcd-1 abc voter started ours",
    "my-etcd-2 def learner not started ours",
    "theirs f00 voter started theirs",
  ]);
  expect(told(recording(settled, [{ name: "my-etcd-3", id: "abc", role: "Voter" }]))).toEqual([
    "my-etcd-3 abc voter started ours",
  ]);
});

test("members: before the cluster has formed, or without members in the status, the known members are the initial members", () => {
  const partly = [{ name: "my-etcd-0", id: ids[0]!, role: "Voter" as const }];
  expect(told(recording(cluster({ stage: "starting" }), partly))).toEqual(
    ids.map((id, n) => `my-etcd-${n} ${id} voter not started ours`),
  );
  expect(told(recording(settled, []))).toEqual(ids.map((id, n) => `my-etcd-${n} ${id} voter started ours`));
});

test("members: a voter that was added by hand and has not started is joining", () => {
  const added = { peerUrls: ["http://my-etcd-3.my-etcd.foo.svc:2380"] };
  expect(joiningMembers(listing(settled, ...listOf(settled), added)).map(({ name }) => name)).toEqual(["my-etcd-3"]);
  expect(joiningMembers(withArrival(settled, "my-etcd-3", "started")).map(({ name }) => name)).toEqual(["my-etcd-3"]);
  expect(joiningMembers(settled)).toEqual([]);
  const late = listOf(settled).map((member, n) => (n === 2 ? { ...member, clientUrls: [] } : member));
  expect(joiningMembers(listing(settled, ...late))).toEqual([]); // an initial member is not joining
});

test("members: surplusVoter prefers sick members, then terminating claims, then members not serving clients, then high ordinals", () => {
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
  expect(nameOf(unreachable)).toBe("my-etcd-2"); // the kubelet reports it Ready: only the operator cannot reach it
  const lastUnreachable = { ...silent(settled, "my-etcd-2"), pods: settled.pods };
  expect(nameOf(lastUnreachable)).toBe("my-etcd-2"); // that does not spare it
  expect(nameOf(settled)).toBe("my-etcd-2");
  expect(nameOf(silent(settled, "my-etcd-0"))).toBe("my-etcd-0");
  expect(nameOf(unpublished(settled, "my-etcd-0", ids[0]))).toBe("my-etcd-0");
  expect(nameOf(silent(unpublished(settled, "my-etcd-2", ids[2]), "my-etcd-1"))).toBe("my-etcd-1");
  expect(surplusVoter(settled)).toBeUndefined();
  // A member with a deleted claim loses its data soon, and is removed before others that are up.
  const dying = withDyingClaims(settled, "my-etcd-0");
  expect(nameOf(dying)).toBe("my-etcd-0");
  expect(nameOf(withDyingClaims(unreachable, "my-etcd-0"))).toBe("my-etcd-0");
  expect(nameOf(unpublished(dying, "my-etcd-2", ids[2]))).toBe("my-etcd-0");
  expect(nameOf(silent(dying, "my-etcd-1"))).toBe("my-etcd-1");
  expect(nameOf(silent(withDyingClaims(settled, "my-etcd-2"), "my-etcd-1"))).toBe("my-etcd-1");
  expect(nameOf(silent(withDyingClaims(settled, "my-etcd-0", "my-etcd-2"), "my-etcd-0"))).toBe("my-etcd-0");
});

test("members: a voter that was added by hand is never surplus", () => {
  const theirs = { name: "theirs", peerUrls: ["http://elsewhere:2380"] };
  expect(surplusVoter(listing(settled, ...listOf(settled), theirs))).toBeUndefined(); // a foreign voter is not counted
  const few = { ...settled.cluster, spec: { ...settled.cluster.spec, replicas: 2 } };
  expect(surplusVoter(listing({ ...settled, cluster: few }, ...listOf(settled), theirs))?.name).toBe("my-etcd-2");
});

test("members: the leader is the member that the first healthy voter reports", () => {
  expect(leaderOf(cluster({ leader: "my-etcd-2", down: ["my-etcd-0"] }))?.name).toBe("my-etcd-2");
  expect(leaderOf(cluster({ stage: "starting" }))).toBeUndefined();
});

test("members: all times of a member without a history are 0", () => {
  const { wellMsAgo, ...times } = memberById(settled, ids[0]!)!.history;
  expect(wellMsAgo).toBeUndefined();
  expect(new Set(Object.values(times))).toEqual(new Set([0]));
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
    earlierTriesMs: 0,
  };
  const seen = { ...settled, histories: new Map([[ids[0]!, history]]) };
  expect(memberById(seen, ids[0]!)!.history).toBe(history);
});

/** An EtcdPeer of this name that has been terminating for this long. */
function going(name: string, forMs: number): EtcdPeer {
  const [peer] = withArrival(settled, "my-etcd-3", "intended").peers.slice(-1);
  const deletionTimestamp = new Date(NOW - forMs).toISOString();
  return { ...peer!, metadata: { ...peer!.metadata, name, deletionTimestamp } };
}

const naming: { name: string; given: ClusterSnapshot; expect: string; leaving?: true }[] = [
  { name: "has the lowest free ordinal", given: settled, expect: "my-etcd-3" },
  {
    name: "may be the name of a removed member without an EtcdPeer or claim",
    given: { ...withoutMember(settled, "my-etcd-0"), peers: settled.peers.slice(1), claims: settled.claims.slice(1) },
    expect: "my-etcd-0",
  },
  {
    name: "is not the name of a member, even without an EtcdPeer or claim",
    given: { ...settled, peers: [], claims: [] },
    expect: "my-etcd-3",
  },
  {
    name: "is not the name of an existing EtcdPeer",
    given: {
      ...settled,
      peers: [...settled.peers, { ...going("my-etcd-3", 0), metadata: { name: "my-etcd-3" } } as EtcdPeer],
    },
    expect: "my-etcd-4",
  },
  {
    name: "is not the name of another cluster's EtcdPeer",
    given: { ...settled, foreignPeers: [{ ...going("my-etcd-3", 0), metadata: { name: "my-etcd-3" } } as EtcdPeer] },
    expect: "my-etcd-4",
  },
  {
    name: "is not the name of an existing claim",
    given: { ...settled, claims: [...settled.claims, claim("my-etcd-3")] },
    expect: "my-etcd-4",
  },
  {
    name: "may be the name of an EtcdPeer that has been terminating for less than a minute",
    given: { ...settled, peers: [...settled.peers, going("my-etcd-3", 59_999)] },
    expect: "my-etcd-3",
    leaving: true,
  },
  {
    name: "is not the name of an EtcdPeer that has been terminating for a minute",
    given: { ...settled, peers: [...settled.peers, going("my-etcd-3", 60_000)] },
    expect: "my-etcd-4",
  },
  {
    name: "is not the name of a terminating EtcdPeer when its claim is not terminating",
    given: { ...settled, peers: [...settled.peers, going("my-etcd-3", 0)], claims: [claim("my-etcd-3")] },
    expect: "my-etcd-4",
  },
];
for (const { name, given, expect: wanted, leaving = false } of naming) {
  test(`members: the next name ${name}`, () => expect(nextPeerName(given)).toEqual({ name: wanted, leaving }));
}

test("members: an intent is an EtcdPeer with initialClusterState Existing and no member ID", () => {
  const { peers } = withArrival(settled, "my-etcd-3", "intended");
  const others = [...cluster({ stage: "starting" }).peers, ...withArrival(settled, "my-etcd-4", "started").peers];
  const nameless = others.map((peer): EtcdPeer => ({ ...peer, spec: withoutId(peer.spec) }));
  const founders = nameless.filter(({ spec }) => spec.bootstrap?.initialClusterState !== "Existing");
  expect(intendedPeers({ ...settled, peers: [...others, ...founders, ...peers] })).toEqual(peers.slice(-1));
});

function withoutId({ memberID: _, ...spec }: EtcdPeer["spec"]): EtcdPeer["spec"] {
  return spec;
}

test("members: a member is fenced when neither its EtcdPeer nor its pod may bootstrap", () => {
  expect(isFenced(settled, "my-etcd-0")).toBe(true);
  expect(isFenced(cluster({ stage: "joined" }), "my-etcd-0")).toBe(false);
  expect(isFenced(settled, "my-etcd-3")).toBe(false);
  const running = new Map([...settled.pods, ["my-etcd-0", pod("my-etcd-0", { ready: true, fenced: false })] as const]);
  expect(isFenced({ ...settled, pods: running }, "my-etcd-0")).toBe(false);
  expect(isFenced({ ...settled, pods: new Map() }, "my-etcd-0")).toBe(false);
  expect(isFenced({ ...settled, peers: [] }, "my-etcd-0")).toBe(false);
});

test("members: an initial member may bootstrap under its own name and ID until it has joined", () => {
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

test("members: an initial member has joined when it answers or etcd lists it as started, whatever the status has", () => {
  const [, , third] = settled.cluster.status!.identity!.initialMembers;
  const silent = { ...settled, endpoints: new Map([...settled.endpoints].filter(([name]) => name !== third!.name)) };
  const recorded = [{ name: third!.name, id: third!.id, role: "Voter" as const }];
  expect(hasJoined(settled, third!)).toBe(true);
  expect(hasJoined(silent, third!)).toBe(true);
  expect(hasJoined({ ...recording(silent, recorded) }, third!)).toBe(false);
});

test("members: foreign members are never counted as sick", () => {
  const theirs = { name: "theirs", peerUrls: ["http://elsewhere:2380"] };
  expect(sick(listing(settled, ...listOf(settled), theirs))).toEqual([]);
  expect(sick(cluster({ down: ["my-etcd-1"] })).map(({ name }) => name)).toEqual(["my-etcd-1"]);
});

test("members: learners have no vote", () => {
  expect(votersOf(withArrival(settled, "my-etcd-3", "synced")).map(({ id }) => id)).toEqual(ids);
  expect(ids).not.toContain(LATER_ID);
});

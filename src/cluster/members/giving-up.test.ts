import { expect, test } from "vitest";
import { present } from "#base/observed.ts";
import { mayHoldData } from "#cluster/members/listed-members.ts";
import { memberById } from "#cluster/members/members.ts";
import { awaitLearner } from "#cluster/members/rules/await-learner.ts";
import { giveUpLearner } from "#cluster/members/rules/give-up-learner.ts";
import { promoteLearner } from "#cluster/members/rules/promote-learner.ts";
import { scaleUp } from "#cluster/members/rules/scale-up.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  ALWAYS_WELL,
  claim,
  cluster,
  knownFor,
  LATER_ID,
  pod,
  sickFor,
  triedBefore,
  unpublished,
  withArrival,
  withRemoval,
} from "#kit/snapshots/cluster.ts";
import { readySince } from "#kit/snapshots/cluster-changes.ts";
import { oneAtATime } from "./change-guard.ts";
import { isInSync } from "./learners.ts";

// How long a learner may take, and when it is removed for a lost voter.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const wanted5 = cluster({ spec: { replicas: 5 } });

/** Earlier attempts took this long, in milliseconds, and the cluster has not been Ready for two days. */
const after = (snapshot: ClusterSnapshot, triesMs: number) =>
  begin(snapshot)
    .apply(readySince, "False", 48 * HOUR)
    .apply(triedBefore, triesMs).snapshot;

function silent(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints].filter(([each]) => each !== name)) };
}

/** Its container runs, and it has not published its name. */
const crashing = (knownMs: number) => {
  const arrival = withArrival(wanted5, "my-etcd-3", "added");
  const its = pod("my-etcd-3", { ready: false });
  const containerStatuses = [{ name: "etcd", restartCount: 7, state: { waiting: { reason: "CrashLoopBackOff" } } }];
  const claimed = [...arrival.claims, claim("my-etcd-3", { "etcd.improbable.io/member-id": LATER_ID })];
  const pods = new Map([
    ...arrival.pods,
    ["my-etcd-3", { ...its, status: { ...its.status, containerStatuses } } as never],
  ]);
  return knownFor({ ...arrival, pods, claims: claimed }, LATER_ID, knownMs);
};
/** The learner has not participated for this long, and was known a minute longer. */
function sick(snapshot: ClusterSnapshot, sickMs: number): ClusterSnapshot {
  const history = {
    ...ALWAYS_WELL,
    knownForMs: MINUTE,
    sickForMs: sickMs,
    wellMsAgo: undefined,
    lostForMs: sickMs,
    silentForMs: sickMs,
    unfitForMs: sickMs,
  };
  return { ...snapshot, histories: new Map(snapshot.histories).set(LATER_ID, history) };
}

/** Its claim has a volume, and its pod is refused. */
function refused(sickMs: number): ClusterSnapshot {
  const arrival = withArrival(wanted5, "my-etcd-3", "added");
  const claimed = [...arrival.claims, claim("my-etcd-3", { "etcd.improbable.io/member-id": LATER_ID })];
  return sick({ ...arrival, claims: claimed }, sickMs);
}

/** A voter is lost, too. */
function besideLost(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = new Map([...snapshot.pods].filter(([name]) => name !== "my-etcd-1"));
  return begin({ ...snapshot, pods })
    .apply(silent, "my-etcd-1")
    .apply(sickFor, "my-etcd-1", 300_000).snapshot;
}

const started = (knownMs: number) =>
  begin(wanted5).apply(withArrival, "my-etcd-3", "started").apply(knownFor, LATER_ID, knownMs).snapshot;

const given: { name: string; given: ClusterSnapshot; expect: RegExp | undefined }[] = [
  {
    name: "that crashes repeatedly gets as long as all earlier attempts",
    given: after(crashing(11 * MINUTE), 9 * HOUR),
    expect: undefined,
  },
  {
    name: "that crashes repeatedly gets ten minutes at first",
    given: after(crashing(11 * MINUTE), HOUR / 10),
    expect: /could not be started within 10 min$/,
  },
  {
    name: "that crashes repeatedly gets only ten minutes when a voter is lost",
    given: begin({ ...after(crashing(11 * MINUTE), 9 * HOUR), pods: cluster({ down: ["my-etcd-1"] }).pods })
      .apply(silent, "my-etcd-1")
      .apply(sickFor, "my-etcd-1", 300_000).snapshot,
    expect: /could not be started within 10 min$/,
  },
  {
    name: "that has started and does not answer gets ten minutes",
    given: after(silent(started(11 * MINUTE), "my-etcd-3"), 9 * HOUR),
    expect: /did not become a voter within 10 min$/,
  },
  {
    name: "that participates without a name gets ten minutes",
    given: after(
      begin(wanted5)
        .apply(withArrival, "my-etcd-3", "added")
        .apply(knownFor, LATER_ID, 11 * MINUTE)
        .apply(unpublished, "my-etcd-3").snapshot,
      9 * HOUR,
    ),
    expect: /did not become a voter within 10 min$/,
  },
  {
    name: "with a pod refused for long is removed for a lost voter",
    given: besideLost(refused(10 * MINUTE + 1)),
    expect: /my-etcd-3 has not started yet, and my-etcd-1 is lost/,
  },
  {
    name: "that was never observed is not removed for a lost voter",
    given: besideLost({ ...refused(HOUR), histories: new Map() }),
    expect: undefined,
  },
  {
    name: "is not removed for a lost voter when its pod has been refused for exactly 10 min",
    given: besideLost(refused(10 * MINUTE)),
    expect: undefined,
  },
  {
    name: "with a running container is not removed for a lost voter",
    given: begin(crashing(MINUTE)).apply(sick, HOUR).apply(besideLost).snapshot,
    expect: undefined,
  },
  {
    name: "with a refused pod is not removed, however long the pod has been refused",
    given: after(refused(9 * HOUR), 9 * HOUR),
    expect: undefined,
  },
  {
    name: "that crashes repeatedly is not removed before six hours after long earlier attempts",
    given: after(crashing(5.9 * HOUR), 48 * HOUR),
    expect: undefined,
  },
];
for (const { name, given: snapshot, expect: wanted } of given) {
  test(`give-up-learner: a learner ${name}`, () => {
    const opinion = giveUpLearner.decide(snapshot);
    if (wanted === undefined) expect(opinion).toBeUndefined();
    else expect(opinion).toMatchObject({ because: expect.stringMatching(wanted) });
  });
}

const leavingToo = begin(cluster({ replicas: 5, spec: { replicas: 6 } }))
  .apply(withArrival, "my-etcd-5", "started")
  .apply(withRemoval, "my-etcd-1", "replacement").snapshot;

test("one-at-a-time: a learner, but no voter, may be removed while another member is leaving", () => {
  const peer = leavingToo.peers.find(({ metadata }) => metadata.name === "my-etcd-5")!;
  expect(oneAtATime.forbids(leavingToo, { do: "markRemoval", peer, removal: "replacement" })).toBeUndefined();
  const voter = leavingToo.peers.find(({ metadata }) => metadata.name === "my-etcd-2")!;
  expect(oneAtATime.forbids(leavingToo, { do: "markRemoval", peer: voter, removal: "replacement" })).toBeDefined();
});

test("one-at-a-time: a joining member blocks adding other members, but not itself", () => {
  const arriving = withArrival(wanted5, "my-etcd-3", "added");
  const adding = (name: string) =>
    ({ do: "addLearner", name, peerUrl: `http://${name}.my-etcd.foo.svc:2380` }) as const;
  expect(oneAtATime.forbids(arriving, adding("my-etcd-3"))).toBeUndefined();
  expect(oneAtATime.forbids(arriving, adding("my-etcd-4"))).toBeDefined();
});

/** The snapshot with these applied indexes of voters and learner, by name. */
function at(indexes: Readonly<Record<string, number>>): ClusterSnapshot {
  const arrival = withArrival(wanted5, "my-etcd-3", "synced");
  const endpoints = [...arrival.endpoints].flatMap(([name, answer]) => {
    const index = indexes[name];
    if (index === undefined || answer.is !== "present") return [];
    return [[name, present({ ...answer.value, raftIndex: index, raftAppliedIndex: index })] as const];
  });
  return { ...arrival, endpoints: new Map(endpoints) };
}

const isLearnerInSync = (given: ClusterSnapshot) => isInSync(given, memberById(given, LATER_ID)!);

test("learners: isInSync compares a learner with the most advanced answering voter", () => {
  expect(isLearnerInSync(at({ "my-etcd-0": 100, "my-etcd-3": 95 }))).toBe(true);
  expect(isLearnerInSync(at({ "my-etcd-0": 10, "my-etcd-1": 100, "my-etcd-3": 50 }))).toBe(false);
  expect(isLearnerInSync(at({ "my-etcd-3": 50 }))).toBe(false); // no voter reports an index
});

test("promote-learner: proposes an unfenced learner until its deadline has passed", () => {
  const unfenced = {
    ...at({ "my-etcd-0": 10, "my-etcd-3": 10 }),
    pods: new Map([["my-etcd-3", pod("my-etcd-3", { ready: false, fenced: false })]]),
  };
  expect(promoteLearner.decide(unfenced)).toMatchObject({ step: { do: "promote", id: memberIdFromHex(LATER_ID) } });
  expect(promoteLearner.decide(knownFor(unfenced, LATER_ID, 11 * MINUTE))).toBeUndefined();
});

test("claims: a claim with a data source may hold data before it has a volume", () => {
  const unbound = claim("my-etcd-0", {}, { bound: false });
  const from = { kind: "VolumeSnapshot", name: "monday" };
  expect(mayHoldData(unbound)).toBe(false);
  expect(mayHoldData(claim("my-etcd-0"))).toBe(true);
  expect(mayHoldData({ ...unbound, spec: { dataSource: from } })).toBe(true);
  expect(mayHoldData({ ...unbound, spec: { dataSourceRef: from } })).toBe(true);
});

test("scale-up: with two members down, rechecks at the interval for the member that went down last", () => {
  const intent = withArrival(wanted5, "my-etcd-3", "intended");
  const missing = begin(intent).apply(silent, "my-etcd-1").apply(silent, "my-etcd-2").snapshot;
  expect(scaleUp.decide(missing)).toMatchObject({ next: "wait", recheckAfterMs: 1_000 });
  const lasting = begin(missing).apply(sickFor, "my-etcd-1", 50_000).apply(sickFor, "my-etcd-2", 20_000).snapshot;
  expect(scaleUp.decide(lasting)).toMatchObject({ next: "wait", recheckAfterMs: 2_000 });
});

test("give-up-learner: a voter that never started is not removed because of its own loss", () => {
  // A voter that was added by hand or promoted, and never started.
  const { members, ...rest } = begin(wanted5)
    .apply(withArrival, "my-etcd-3", "added")
    .apply(knownFor, LATER_ID, 1_000).snapshot;
  if (members.is !== "present") throw new Error("the members are listed");
  const voters = members.value.members.map((member) => ({ ...member, isLearner: false }));
  const unbound = claim("my-etcd-3", { "etcd.improbable.io/member-id": LATER_ID }, { bound: false });
  const given = { ...rest, members: present({ ...members.value, members: voters }), claims: [...rest.claims, unbound] };
  const lost = {
    ...ALWAYS_WELL,
    knownForMs: 1_000,
    sickForMs: HOUR,
    wellMsAgo: undefined,
    lostForMs: HOUR,
    silentForMs: HOUR,
    unfitForMs: HOUR,
  };
  expect(giveUpLearner.decide({ ...given, histories: new Map([[LATER_ID, lost]]) })).toBeUndefined();
});

test("await-learner: reports the Ready condition of the learner's EtcdPeer", () => {
  const arrival = withArrival(wanted5, "my-etcd-3", "added");
  const conditions = [
    { type: "Ready", status: "False", reason: "ClaimTaken", message: "claim my-etcd-3 is another's" },
  ];
  const peers = arrival.peers.map((peer) =>
    peer.metadata.name === "my-etcd-3" ? ({ ...peer, status: { conditions } } as typeof peer) : peer,
  );
  expect(awaitLearner.decide({ ...arrival, peers })).toMatchObject({
    because: "my-etcd-3 is joining: claim my-etcd-3 is another's",
  });
});

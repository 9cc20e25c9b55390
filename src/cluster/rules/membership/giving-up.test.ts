import { expect, test } from "vitest";
import { present } from "#base/observed.ts";
import { oneAtATime } from "#cluster/guards/turns.ts";
import { isInSync } from "#cluster/learners.ts";
import { mayHoldData } from "#cluster/members.ts";
import { awaitLearner } from "#cluster/rules/membership/await-learner.ts";
import { giveUpLearner } from "#cluster/rules/membership/give-up-learner.ts";
import { promoteLearner } from "#cluster/rules/membership/promote-learner.ts";
import { scaleUp } from "#cluster/rules/membership/scale-up.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import {
  ALWAYS_WELL,
  claim,
  cluster,
  knownFor,
  LATER_ID,
  pod,
  sickFor,
  unpublished,
  withArrival,
  withRemoval,
} from "#kit/cluster.ts";
import { readySince } from "#kit/cluster-changes.ts";

// How long a learner may take, and who makes room for whom.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const wanted5 = cluster({ spec: { replicas: 5 } });

/** The cluster was whole for the last time so long ago, in milliseconds. */
const wholeBefore = (snapshot: ClusterSnapshot, msAgo: number) => readySince(snapshot, "False", msAgo);

function silent(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints].filter(([each]) => each !== name)) };
}

/** Its container runs, and it has not told the others that it serves. */
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
/** The learner takes no part for so long, and is known for a minute besides that. */
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

/** Its claim has a volume, and no pod of it can be made. */
function refused(sickMs: number): ClusterSnapshot {
  const arrival = withArrival(wanted5, "my-etcd-3", "added");
  const claimed = [...arrival.claims, claim("my-etcd-3", { "etcd.improbable.io/member-id": LATER_ID })];
  return sick({ ...arrival, claims: claimed }, sickMs);
}

/** A voter is lost besides. */
function besideLost(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = new Map([...snapshot.pods].filter(([name]) => name !== "my-etcd-1"));
  return sickFor(silent({ ...snapshot, pods }, "my-etcd-1"), "my-etcd-1", 300_000);
}

const started = (knownMs: number) => knownFor(withArrival(wanted5, "my-etcd-3", "started"), LATER_ID, knownMs);

/** The pod of one voter is 40 minutes old, that of another one five; the third one has none. */
function ranFor(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = new Map(snapshot.pods);
  pods.delete("my-etcd-2");
  for (const [name, ms] of [
    ["my-etcd-0", 40 * MINUTE],
    ["my-etcd-1", 5 * MINUTE],
  ] as const) {
    const its = pods.get(name)!;
    const creationTimestamp = new Date(snapshot.takenAtMs - ms).toISOString();
    pods.set(name, { ...its, metadata: { ...its.metadata, creationTimestamp } });
  }
  return { ...snapshot, pods };
}

const given: { name: string; given: ClusterSnapshot; expect: RegExp | undefined }[] = [
  {
    name: "that ends again and again is waited for as long as all tries before it",
    given: wholeBefore(crashing(11 * MINUTE), 9 * HOUR),
    expect: undefined,
  },
  {
    name: "that ends again and again has ten minutes at first",
    given: wholeBefore(crashing(11 * MINUTE), HOUR / 10),
    expect: /could not be started within 10 min$/,
  },
  {
    name: "that ends again and again has ten minutes when a voter is lost meanwhile",
    given: sickFor(
      silent(
        { ...wholeBefore(crashing(11 * MINUTE), 9 * HOUR), pods: cluster({ down: ["my-etcd-1"] }).pods },
        "my-etcd-1",
      ),
      "my-etcd-1",
      300_000,
    ),
    expect: /could not be started within 10 min$/,
  },
  {
    name: "that has started, and gives no answer, has ten minutes",
    given: wholeBefore(silent(started(11 * MINUTE), "my-etcd-3"), 9 * HOUR),
    expect: /has not got its vote within 10 min$/,
  },
  {
    name: "that takes part, and has not told its name, has ten minutes",
    given: wholeBefore(
      unpublished(knownFor(withArrival(wanted5, "my-etcd-3", "added"), LATER_ID, 11 * MINUTE), "my-etcd-3"),
      9 * HOUR,
    ),
    expect: /has not got its vote within 10 min$/,
  },
  {
    name: "whose pod cannot be made makes room for a lost voter when that has lasted",
    given: besideLost(refused(10 * MINUTE + 1)),
    expect: /my-etcd-3 could not be started yet, and my-etcd-1 is lost/,
  },
  {
    name: "whom no look has seen before does not",
    given: besideLost({ ...refused(HOUR), histories: new Map() }),
    expect: undefined,
  },
  {
    name: "whose pod is only late does not",
    given: besideLost(refused(10 * MINUTE)),
    expect: undefined,
  },
  {
    name: "that has a pod, and whose container runs, does not",
    given: besideLost(sick(crashing(MINUTE), HOUR)),
    expect: undefined,
  },
  {
    name: "whose pod cannot be made is waited for",
    given: wholeBefore(refused(9 * HOUR), 9 * HOUR),
    expect: undefined,
  },
  {
    name: "is waited for as long as half of the time for which somebody has run",
    given: ranFor(wholeBefore(crashing(15 * MINUTE), 9 * HOUR)),
    expect: undefined,
  },
  {
    name: "is not waited for longer: before that all slept",
    given: ranFor(wholeBefore(crashing(25 * MINUTE), 9 * HOUR)),
    expect: /could not be started within 20 min$/,
  },
  {
    name: "has six hours at the most, and not less",
    given: wholeBefore(crashing(5.9 * HOUR), 48 * HOUR),
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

const leavingToo = withRemoval(
  withArrival(cluster({ replicas: 5, spec: { replicas: 6 } }), "my-etcd-5", "started"),
  "my-etcd-1",
  "replacement",
);

test("one-at-a-time: a learner may be given up while somebody else is leaving", () => {
  const peer = leavingToo.peers.find(({ metadata }) => metadata.name === "my-etcd-5")!;
  expect(oneAtATime.forbids(leavingToo, { do: "markRemoval", peer, removal: "replacement" })).toBeUndefined();
  const voter = leavingToo.peers.find(({ metadata }) => metadata.name === "my-etcd-2")!;
  expect(oneAtATime.forbids(leavingToo, { do: "markRemoval", peer: voter, removal: "replacement" })).toBeDefined();
});

test("one-at-a-time: who is being added is in nobody's way but others'", () => {
  const arriving = withArrival(wanted5, "my-etcd-3", "added");
  const adding = (name: string) =>
    ({ do: "addLearner", name, peerUrl: `http://${name}.my-etcd.foo.svc:2380` }) as const;
  expect(oneAtATime.forbids(arriving, adding("my-etcd-3"))).toBeUndefined();
  expect(oneAtATime.forbids(arriving, adding("my-etcd-4"))).toBeDefined();
});

/** With what each voter, and the learner, has applied. */
function at(indexes: Readonly<Record<string, number>>): ClusterSnapshot {
  const arrival = withArrival(wanted5, "my-etcd-3", "synced");
  const endpoints = [...arrival.endpoints].flatMap(([name, answer]) => {
    const index = indexes[name];
    if (index === undefined || answer.is !== "present") return [];
    return [[name, present({ ...answer.value, raftIndex: index, raftAppliedIndex: index })] as const];
  });
  return { ...arrival, endpoints: new Map(endpoints) };
}

const learner = { name: "my-etcd-3", id: LATER_ID, isLearner: true, hasStarted: true, isOurs: true, peerUrls: [] };

test("learners: one is in sync with the voter that has most, of those that answer", () => {
  expect(isInSync(at({ "my-etcd-0": 100, "my-etcd-3": 95 }), learner)).toBe(true);
  expect(isInSync(at({ "my-etcd-0": 10, "my-etcd-1": 100, "my-etcd-3": 50 }), learner)).toBe(false);
  expect(isInSync(at({ "my-etcd-3": 50 }), learner)).toBe(false); // nobody says how much there is
});

test("promote-learner: one that is not fenced yet is proposed, and held back, until it is overdue", () => {
  const unfenced = {
    ...at({ "my-etcd-0": 10, "my-etcd-3": 10 }),
    pods: new Map([["my-etcd-3", pod("my-etcd-3", { ready: false, fenced: false })]]),
  };
  expect(promoteLearner.decide(unfenced)).toMatchObject({ step: { do: "promote", id: memberIdFromHex(LATER_ID) } });
  expect(promoteLearner.decide(knownFor(unfenced, LATER_ID, 11 * MINUTE))).toBeUndefined();
});

test("claims: one that is made from something may hold data before it has a volume", () => {
  const unbound = claim("my-etcd-0", {}, { bound: false });
  const from = { kind: "VolumeSnapshot", name: "monday" };
  expect(mayHoldData(unbound)).toBe(false);
  expect(mayHoldData(claim("my-etcd-0"))).toBe(true);
  expect(mayHoldData({ ...unbound, spec: { dataSource: from } })).toBe(true);
  expect(mayHoldData({ ...unbound, spec: { dataSourceRef: from } })).toBe(true);
});

test("scale-up: it looks again by who is missing for the shortest time, every second at first", () => {
  const intent = withArrival(wanted5, "my-etcd-3", "intended");
  const missing = silent(silent(intent, "my-etcd-1"), "my-etcd-2");
  expect(scaleUp.decide(missing)).toMatchObject({ next: "wait", recheckAfterMs: 1_000 });
  const lasting = sickFor(sickFor(missing, "my-etcd-1", 50_000), "my-etcd-2", 20_000);
  expect(scaleUp.decide(lasting)).toMatchObject({ next: "wait", recheckAfterMs: 2_000 });
});

test("give-up-learner: who could not be started and counts as lost makes no room for itself", () => {
  // A voter that was added and never started: somebody promoted it, or added it as one.
  const { members, ...rest } = knownFor(withArrival(wanted5, "my-etcd-3", "added"), LATER_ID, 1_000);
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

test("await-learner: what its EtcdPeer says is told, such as that a claim is in the way", () => {
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

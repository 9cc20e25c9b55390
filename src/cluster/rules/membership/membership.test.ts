import { expect, test } from "vitest";
import { CLEANUP_FINALIZER } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present } from "#base/observed.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { learnerDeadlineMs } from "#cluster/rules/membership/give-up-learner.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import {
  changedPeer,
  claim,
  cluster,
  endpointStatus,
  knownFor,
  LATER_ID,
  NOW,
  sickFor,
  withArrival,
  withoutMember,
  withRemoval,
} from "#kit/cluster.ts";
import {
  readySince,
  withEachMember,
  withIntent,
  withJoined,
  withoutClaim,
  withoutPeers,
  withUnboundClaim,
  withUnboundLearner,
} from "#kit/cluster-changes.ts";
import { withPod } from "#kit/cluster-rolling.ts";

// What each rule says when it is asked alone: what other rules would have said before is no excuse.

function said(rule: string, snapshot: ClusterSnapshot): string {
  const opinion = CLUSTER_RULES.find(({ name }) => name === rule)!.decide(snapshot);
  if (opinion?.next !== "step") return opinion?.next ?? "nothing";
  const { step } = opinion;
  return [step.do, nameIn(step), step.do === "markRemoval" ? (step.removal ?? "none") : ""].join(" ").trim();
}

function nameIn(step: ClusterStep): string {
  if ("peer" in step) return step.peer.metadata.name;
  if (step.do === "moveLeader") return `to ${step.to}`;
  return "name" in step ? step.name : "";
}

const settled = cluster();
const { clusterID, initialMembers } = settled.cluster.status!.identity!;
const wanted5 = cluster({ spec: { replicas: 5 } });

function going(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return changedPeer(snapshot, name, { deletionTimestamp: new Date(NOW).toISOString() });
}

function withPeer(snapshot: ClusterSnapshot, name: string, spec: Partial<EtcdPeer["spec"]>): ClusterSnapshot {
  const peers = snapshot.peers.map((peer) =>
    peer.metadata.name === name ? { ...peer, spec: { ...peer.spec, ...spec } } : peer,
  );
  return { ...snapshot, peers };
}

/** etcd cannot be asked; by the record there is one more voter. */
function outageWith(snapshot: ClusterSnapshot, more: { name: string; id: string }): ClusterSnapshot {
  const recorded = [...initialMembers, more].map(({ name, id }) => ({
    name,
    id,
    learner: false,
    healthy: false,
    leader: false,
  }));
  const status = { ...snapshot.cluster.status, members: recorded };
  return { ...snapshot, cluster: { ...snapshot.cluster, status }, members: { is: "unknown", why: "no leader" } };
}

/** The third first member is listed, has never started, and its claim has no volume; this process has looked for so long. */
function neverCame(lostMs: number): ClusterSnapshot {
  const down = withEachMember(withJoined(cluster({ down: ["my-etcd-2"] }), 2), ({ name, clientUrls }) => ({
    clientUrls: name === "my-etcd-2" ? [] : clientUrls,
  }));
  return sickFor(withUnboundClaim(down, "my-etcd-2"), "my-etcd-2", lostMs);
}

function withIndexes(snapshot: ClusterSnapshot, indexes: Readonly<Record<string, number>>): ClusterSnapshot {
  const endpoints = [...snapshot.endpoints].map(([name, answer]) => {
    const raftAppliedIndex = indexes[name];
    return [
      name,
      answer.is === "present" && raftAppliedIndex !== undefined
        ? present({ ...answer.value, raftAppliedIndex })
        : answer,
    ] as const;
  });
  return { ...snapshot, endpoints: new Map(endpoints) };
}

/** Four members, three wanted; the last one leads and is to go. */
const abdicating = withRemoval(
  cluster({ replicas: 4, spec: { replicas: 3 }, leader: "my-etcd-3" }),
  "my-etcd-3",
  "scale-down",
);

const stuck = (knownMs: number) =>
  knownFor(withUnboundLearner(withArrival(wanted5, "my-etcd-3", "added")), LATER_ID, knownMs);
const slow = (knownMs: number) => knownFor(withArrival(wanted5, "my-etcd-3", "started"), LATER_ID, knownMs);
/** A voter has been lost for so long that it is given up. */
function withLost(snapshot: ClusterSnapshot): ClusterSnapshot {
  const [, voter] = snapshot.cluster.status!.identity!.initialMembers;
  const { endpoints, pods } = cluster({ down: [voter!.name] });
  const down = { ...snapshot, endpoints, pods };
  return { ...down, histories: new Map([...down.histories, ...sickFor(down, voter!.name, 300_000).histories]) };
}
/** The snapshot in which all pods were made so long ago, in milliseconds. */
function awakeFor(snapshot: ClusterSnapshot, ms: number): ClusterSnapshot {
  const creationTimestamp = new Date(snapshot.takenAtMs - ms).toISOString();
  return [...snapshot.pods.keys()].reduce(
    (given, name) => withPod(given, name, { metadata: { creationTimestamp } }),
    snapshot,
  );
}
const hours = (count: number) => count * 3_600_000;
const unsure = withRemoval(
  sickFor(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-1", 20_000),
  "my-etcd-1",
  "replacement",
);

const cases: Record<string, readonly { name: string; given: ClusterSnapshot; expect: string }[]> = {
  "remove-member": [
    {
      name: "a learner that was given up goes",
      given: withRemoval(withArrival(wanted5, "my-etcd-3", "started"), "my-etcd-3", "replacement"),
      expect: "removeMember my-etcd-3",
    },
    {
      name: "a learner that never started goes",
      given: withRemoval(withUnboundLearner(withArrival(wanted5, "my-etcd-3", "added")), "my-etcd-3", "never-started"),
      expect: "removeMember my-etcd-3",
    },
    {
      name: "a learner that started after all stays",
      given: withRemoval(
        withUnboundLearner(withArrival(wanted5, "my-etcd-3", "started")),
        "my-etcd-3",
        "never-started",
      ),
      expect: "markRemoval my-etcd-3 none",
    },
    {
      name: "a learner that is not wanted goes",
      given: withRemoval(withArrival(settled, "my-etcd-3", "started"), "my-etcd-3", "scale-down"),
      expect: "removeMember my-etcd-3",
    },
    {
      name: "a learner that is wanted again stays",
      given: withRemoval(withArrival(wanted5, "my-etcd-3", "started"), "my-etcd-3", "scale-down"),
      expect: "markRemoval my-etcd-3 none",
    },
    { name: "whom this process has not yet found lost is waited for", given: unsure, expect: "wait" },
    {
      name: "that another one is lost says nothing of it",
      given: sickFor(unsure, "my-etcd-2", 300_000),
      expect: "wait",
    },
    {
      name: "that another one is a learner says nothing of it",
      given: withArrival(unsure, "my-etcd-5", "started"),
      expect: "wait",
    },
    {
      name: "whom nobody is to replace any more stays",
      given: { ...unsure, replaceAfterMs: Number.POSITIVE_INFINITY },
      expect: "markRemoval my-etcd-1 none",
    },
    {
      name: "it goes all the same when its claim is gone",
      given: {
        ...withoutClaim(sickFor(unsure, "my-etcd-1", 10_000), "my-etcd-1"),
        replaceAfterMs: Number.POSITIVE_INFINITY,
      },
      expect: "removeMember my-etcd-1",
    },
    {
      name: "a learner that was given up goes, whatever is to become of lost voters",
      given: {
        ...withRemoval(withArrival(wanted5, "my-etcd-3", "started"), "my-etcd-3", "replacement"),
        replaceAfterMs: Number.POSITIVE_INFINITY,
      },
      expect: "removeMember my-etcd-3",
    },
    {
      name: "a first member that never started is looked at anew, too",
      given: withRemoval(neverCame(20_000), "my-etcd-2", "never-started"),
      expect: "wait",
    },
    {
      name: "and goes when it is lost",
      given: withRemoval(neverCame(300_000), "my-etcd-2", "never-started"),
      expect: "removeMember my-etcd-2",
    },
    {
      name: "the leadership goes to who knows most",
      given: withIndexes(abdicating, { "my-etcd-0": 11, "my-etcd-1": 12, "my-etcd-2": 10, "my-etcd-3": 20 }),
      expect: "moveLeader to my-etcd-1",
    },
    {
      name: "the leadership goes to who knows most, the first as well as the last",
      given: withIndexes(abdicating, { "my-etcd-0": 10, "my-etcd-1": 11, "my-etcd-2": 12, "my-etcd-3": 20 }),
      expect: "moveLeader to my-etcd-2",
    },
    {
      name: "of those who know as much, the lowest ordinal leads",
      given: withIndexes(abdicating, { "my-etcd-0": 12, "my-etcd-1": 12, "my-etcd-2": 11, "my-etcd-3": 20 }),
      expect: "moveLeader to my-etcd-0",
    },
  ],
  fence: [
    {
      name: "a first member that has joined is fenced, also while nobody can be asked",
      given: cluster({ stage: "joined", down: ["my-etcd-1", "my-etcd-2"] }),
      expect: "replacePeer my-etcd-0",
    },
    {
      name: "a later one that is listed as started is fenced, also when it is silent",
      given: { ...withArrival(wanted5, "my-etcd-3", "started"), endpoints: settled.endpoints },
      expect: "replacePeer my-etcd-3",
    },
    {
      name: "a later one that takes part is fenced, also when it is not listed as started",
      given: withEachMember(withArrival(wanted5, "my-etcd-3", "started"), ({ isLearner, clientUrls }) => ({
        clientUrls: isLearner ? [] : clientUrls,
      })),
      expect: "replacePeer my-etcd-3",
    },
    {
      name: "a later one that has yet to start is not",
      given: withArrival(wanted5, "my-etcd-3", "added"),
      expect: "nothing",
    },
    {
      name: "the peer of another member of the same name is not",
      given: withPeer(withArrival(wanted5, "my-etcd-3", "started"), "my-etcd-3", { memberID: "abc" }),
      expect: "nothing",
    },
    {
      name: "a later one is not while nobody can be asked whether it has started",
      given: outageWith(withArrival(wanted5, "my-etcd-3", "added"), { name: "my-etcd-3", id: LATER_ID }),
      expect: "nothing",
    },
  ],
  "restore-peer": [
    { name: "a member gets its peer back", given: withoutPeers(settled, "my-etcd-1"), expect: "createPeer my-etcd-1" },
    {
      name: "while a cluster forms, a first member with a volume is not fenced, whatever becomes of rule bootstrap: it may have to form it",
      given: withoutPeers(cluster({ stage: "starting", with: { claims: [claim("my-etcd-1")] } }), "my-etcd-1"),
      expect: "nothing",
    },
    {
      name: "a later member gets its peer back, too",
      given: withoutPeers(
        withEachMember(withArrival(wanted5, "my-etcd-3", "synced"), () => ({ isLearner: false })),
        "my-etcd-3",
      ),
      expect: "createPeer my-etcd-3",
    },
    {
      name: "one that has yet to start is not sent back to data that it never had",
      given: withUnboundLearner(withArrival(wanted5, "my-etcd-3", "added", { peer: false })),
      expect: "nothing",
    },
    {
      name: "nor one that only has the name of a first member",
      given: withoutPeers(
        withEachMember(settled, ({ name }) =>
          name === "my-etcd-1" ? { id: memberIdFromHex(LATER_ID), name: "", clientUrls: [] } : {},
        ),
        "my-etcd-1",
      ),
      expect: "nothing",
    },
    {
      name: "a first member is on record as joined before it is sent back to its data",
      given: withoutPeers(withJoined(settled, 2), "my-etcd-2"),
      expect: "nothing",
    },
    {
      name: "while nobody can be asked, who has a claim may be what the quorum lacks",
      given: outageWith(withUnboundLearner(wanted5), { name: "my-etcd-3", id: LATER_ID }),
      expect: "createPeer my-etcd-3",
    },
  ],
  "restore-learner": [
    {
      name: "a learner that has yet to start gets its peer back",
      given: withArrival(wanted5, "my-etcd-3", "added", { peer: false }),
      expect: "createPeer my-etcd-3",
    },
    {
      name: "one that has started may not join a second time",
      given: withArrival(wanted5, "my-etcd-3", "started", { peer: false }),
      expect: "nothing",
    },
  ],
  "promote-learner": [
    {
      name: "a learner that has caught up gets its vote",
      given: withArrival(wanted5, "my-etcd-3", "synced"),
      expect: "promote my-etcd-3",
    },
    {
      name: "a voter that has yet to start has its vote",
      given: withEachMember(withArrival(wanted5, "my-etcd-3", "synced"), ({ isLearner }) =>
        isLearner ? { isLearner: false, clientUrls: [] } : {},
      ),
      expect: "nothing",
    },
  ],
  "retire-peer": [
    {
      name: "the peer of who has left goes",
      given: withoutMember(settled, "my-etcd-2"),
      expect: "releaseClaim my-etcd-2",
    },
    {
      name: "one that is on its way out is left alone",
      given: going(withoutMember(settled, "my-etcd-2"), "my-etcd-2"),
      expect: "nothing",
    },
    {
      name: "an intent that carries a finalizer is not resumed",
      given: changedPeer(withArrival(wanted5, "my-etcd-3", "intended"), "my-etcd-3", {
        finalizers: [CLEANUP_FINALIZER],
      }),
      expect: "deletePeer my-etcd-3",
    },
  ],
  "identify-member": [
    {
      name: "an intent that was added learns who it is",
      given: withIntent(withArrival(wanted5, "my-etcd-3", "added")),
      expect: "replacePeer my-etcd-3",
    },
    {
      name: "one that is going is not resumed",
      given: going(withIntent(withArrival(wanted5, "my-etcd-3", "added")), "my-etcd-3"),
      expect: "nothing",
    },
    {
      name: "one that carries a finalizer is not resumed",
      given: changedPeer(withIntent(withArrival(wanted5, "my-etcd-3", "added")), "my-etcd-3", {
        finalizers: [CLEANUP_FINALIZER],
      }),
      expect: "nothing",
    },
  ],
  "take-back-learner": [
    {
      name: "a learner that is not wanted goes",
      given: withArrival(settled, "my-etcd-3", "started"),
      expect: "markRemoval my-etcd-3 scale-down",
    },
    {
      name: "whatever is on record stands",
      given: withRemoval(withArrival(settled, "my-etcd-3", "started"), "my-etcd-3", "replacement"),
      expect: "nothing",
    },
  ],
  "replace-lost": [
    {
      name: "an intent that is going is not asked to go again",
      given: going(
        withArrival(
          sickFor(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
          "my-etcd-3",
          "intended",
        ),
        "my-etcd-3",
      ),
      expect: "markRemoval my-etcd-1 replacement",
    },
  ],
  "scale-down": [
    {
      name: "an intent that is going is not asked to go again",
      given: going(withArrival(cluster({ spec: { replicas: 1 } }), "my-etcd-3", "intended"), "my-etcd-3"),
      expect: "markRemoval my-etcd-2 scale-down",
    },
    {
      name: "whoever is chosen already is not chosen again",
      given: withRemoval(cluster({ spec: { replicas: 2 } }), "my-etcd-2", "scale-down"),
      expect: "nothing",
    },
  ],
  "scale-up": [
    {
      name: "a learner of ours is not called somebody's",
      given: withArrival(withArrival(wanted5, "my-etcd-3", "synced"), "my-etcd-4", "intended"),
      expect: "addLearner my-etcd-4",
    },
    {
      name: "an intent that is going is not asked to go again",
      given: going(withArrival(settled, "my-etcd-3", "intended"), "my-etcd-3"),
      expect: "nothing",
    },
    {
      name: "a name that is becoming free is waited for",
      given: going(withArrival(wanted5, "my-etcd-3", "intended"), "my-etcd-3"),
      expect: "wait",
    },
  ],
  "give-up-learner": [
    { name: "it has ten minutes to start", given: stuck(600_000), expect: "nothing" },
    { name: "then it never started", given: stuck(600_100), expect: "markRemoval my-etcd-3 never-started" },
    {
      name: "with an hour behind it, it has half an hour",
      given: readySince(stuck(hours(0.5)), "False", hours(1)),
      expect: "nothing",
    },
    {
      name: "and then no more",
      given: readySince(stuck(hours(0.5) + 1), "False", hours(1)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "with two days behind it, it has six hours at the most",
      given: readySince(stuck(hours(6) + 1), "False", hours(48)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "time in which the cluster slept before is not behind it",
      given: awakeFor(readySince(stuck(600_100), "False", hours(12)), 600_000),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "time since is, as ever",
      given: awakeFor(readySince(stuck(600_100), "False", hours(12)), hours(1)),
      expect: "nothing",
    },
    {
      name: "it makes room at once for a voter that is lost",
      given: withLost(stuck(1_000)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "in a cluster that is whole the first try takes ten minutes",
      given: readySince(stuck(600_100), "True", hours(9)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "it has ten minutes to catch up, whatever was before",
      given: readySince(slow(600_100), "False", hours(9)),
      expect: "markRemoval my-etcd-3 replacement",
    },
    {
      name: "who was never seen was not seen for long",
      given: withArrival(wanted5, "my-etcd-3", "started"),
      expect: "nothing",
    },
    {
      name: "whatever is on record stands",
      given: withRemoval(slow(6_000_000), "my-etcd-3", "scale-down"),
      expect: "nothing",
    },
  ],
};

for (const [rule, promises] of Object.entries(cases)) {
  for (const { name, given, expect: wanted } of promises) {
    test(`${rule}: ${name}`, () => expect(said(rule, given)).toBe(wanted));
  }
}

test("give-up-learner: five MiB of the leader's data take a second", () => {
  const status = {
    ...endpointStatus(clusterID, initialMembers[0]!.id, initialMembers[0]!.id),
    dbSizeBytes: 300 * 1024 * 1024,
  };
  const large = { ...settled, endpoints: new Map([...settled.endpoints, ["my-etcd-0", present(status)] as const]) };
  expect(learnerDeadlineMs(large)).toBe(660_000);
  expect(learnerDeadlineMs({ ...settled, endpoints: new Map() })).toBe(600_000);
});

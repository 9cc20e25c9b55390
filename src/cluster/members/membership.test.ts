import { expect, test } from "vitest";
import { CLEANUP_FINALIZER } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present, unknown } from "#base/observed.ts";
import { learnerDeadlineMs } from "#cluster/members/rules/give-up-learner.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  changedPeer,
  claim,
  cluster,
  endpointStatus,
  knownFor,
  LATER_ID,
  sickFor,
  triedBefore,
  withArrival,
  withoutMember,
  withRemoval,
} from "#kit/snapshots/cluster.ts";
import {
  readySince,
  withBoundLearner,
  withDyingPeer,
  withEachMember,
  withIntent,
  withJoined,
  withoutClaim,
  withoutPeers,
  withUnboundClaim,
  withUnboundLearner,
} from "#kit/snapshots/cluster-changes.ts";
import { recording, withRelease } from "#kit/snapshots/cluster-rolling.ts";

// Each rule by itself, without the rules before it.

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

function withPeer(snapshot: ClusterSnapshot, name: string, spec: Partial<EtcdPeer["spec"]>): ClusterSnapshot {
  const peers = snapshot.peers.map((peer) =>
    peer.metadata.name === name ? { ...peer, spec: { ...peer.spec, ...spec } } : peer,
  );
  return { ...snapshot, peers };
}

/** No member list; the status has one more voter. */
function outageWith(snapshot: ClusterSnapshot, more: { name: string; id: string }): ClusterSnapshot {
  const recorded = [...initialMembers, more].map(({ name, id }) => ({
    name,
    id,
    role: "Voter" as const,
    health: "Unhealthy" as const,
  }));
  const status = { ...snapshot.cluster.status, members: recorded };
  return { ...snapshot, cluster: { ...snapshot.cluster, status }, members: { is: "unknown", why: "no leader" } };
}

/**
 * The third initial member is listed and has never started, its claim has no volume, and it was observed for this long.
 */
function neverCame(lostMs: number): ClusterSnapshot {
  const down = begin(cluster({ down: ["my-etcd-2"] }))
    .apply(withJoined, 2)
    .apply(withEachMember, ({ name, clientUrls }) => ({
      clientUrls: name === "my-etcd-2" ? [] : clientUrls,
    })).snapshot;
  return begin(down).apply(withUnboundClaim, "my-etcd-2").apply(sickFor, "my-etcd-2", lostMs).snapshot;
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

/** Four members, three wanted; the last one leads and is removed. */
const abdicating = withRemoval(
  cluster({ replicas: 4, spec: { replicas: 3 }, leader: "my-etcd-3" }),
  "my-etcd-3",
  "scale-down",
);

const stuck = (knownMs: number) =>
  begin(wanted5).apply(withArrival, "my-etcd-3", "added").apply(withUnboundLearner).apply(knownFor, LATER_ID, knownMs)
    .snapshot;
const slow = (knownMs: number) =>
  begin(wanted5).apply(withArrival, "my-etcd-3", "started").apply(knownFor, LATER_ID, knownMs).snapshot;
/** A voter that has been lost long enough to be replaced. */
function withLost(snapshot: ClusterSnapshot): ClusterSnapshot {
  const [, voter] = snapshot.cluster.status!.identity!.initialMembers;
  const { endpoints, pods } = cluster({ down: [voter!.name] });
  const down = { ...snapshot, endpoints, pods };
  return { ...down, histories: new Map([...down.histories, ...sickFor(down, voter!.name, 300_000).histories]) };
}
const hours = (count: number) => count * 3_600_000;
const unsure = begin(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-2"] }))
  .apply(sickFor, "my-etcd-1", 20_000)
  .apply(withRemoval, "my-etcd-1", "replacement").snapshot;

const cases: Record<string, readonly { name: string; given: ClusterSnapshot; expect: string }[]> = {
  "remove-member": [
    {
      name: "removes a learner that is recorded for replacement",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "started").apply(withRemoval, "my-etcd-3", "replacement")
        .snapshot,
      expect: "removeMember my-etcd-3",
    },
    {
      name: "removes a learner that is recorded as never started",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "added")
        .apply(withUnboundLearner)
        .apply(withRemoval, "my-etcd-3", "never-started").snapshot,
      expect: "removeMember my-etcd-3",
    },
    {
      name: "cancels the removal of a learner that is recorded as never started but has started",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "started")
        .apply(withUnboundLearner)
        .apply(withRemoval, "my-etcd-3", "never-started").snapshot,
      expect: "markRemoval my-etcd-3 none",
    },
    {
      name: "removes a learner that is recorded as never voted",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "started")
        .apply(withBoundLearner)
        .apply(withRemoval, "my-etcd-3", "never-voted").snapshot,
      expect: "removeMember my-etcd-3",
    },
    {
      name: "cancels the removal of a learner that is recorded as never voted but was promoted",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "started")
        .apply(withBoundLearner)
        .apply(withEachMember, () => ({ isLearner: false }))
        .apply(withRemoval, "my-etcd-3", "never-voted").snapshot,
      expect: "markRemoval my-etcd-3 none",
    },
    {
      name: "cancels the removal of a lost voter that is recorded as never voted",
      given: begin(cluster({ down: ["my-etcd-1"] }))
        .apply(sickFor, "my-etcd-1", 300_000)
        .apply(withRemoval, "my-etcd-1", "never-voted").snapshot,
      expect: "markRemoval my-etcd-1 none",
    },
    {
      name: "removes a surplus learner",
      given: begin(settled).apply(withArrival, "my-etcd-3", "started").apply(withRemoval, "my-etcd-3", "scale-down")
        .snapshot,
      expect: "removeMember my-etcd-3",
    },
    {
      name: "cancels the scale-down of a learner when spec.replicas asks for it again",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "started").apply(withRemoval, "my-etcd-3", "scale-down")
        .snapshot,
      expect: "markRemoval my-etcd-3 none",
    },
    {
      name: "waits until this process has observed the loss of the member for long enough",
      given: unsure,
      expect: "wait",
    },
    {
      name: "waits although another member has been lost for long enough",
      given: sickFor(unsure, "my-etcd-2", 300_000),
      expect: "wait",
    },
    {
      name: "waits although a learner is joining",
      given: withArrival(unsure, "my-etcd-5", "started"),
      expect: "wait",
    },
    {
      name: "cancels a replacement when spec.replacement.policy is Never",
      given: { ...unsure, replaceAfterMs: Number.POSITIVE_INFINITY },
      expect: "markRemoval my-etcd-1 none",
    },
    {
      name: "removes a member without a claim even when spec.replacement.policy is Never",
      given: {
        ...begin(unsure).apply(sickFor, "my-etcd-1", 10_000).apply(withoutClaim, "my-etcd-1").snapshot,
        replaceAfterMs: Number.POSITIVE_INFINITY,
      },
      expect: "removeMember my-etcd-1",
    },
    {
      name: "removes a learner recorded for replacement even when spec.replacement.policy is Never",
      given: {
        ...begin(wanted5).apply(withArrival, "my-etcd-3", "started").apply(withRemoval, "my-etcd-3", "replacement")
          .snapshot,
        replaceAfterMs: Number.POSITIVE_INFINITY,
      },
      expect: "removeMember my-etcd-3",
    },
    {
      name: "waits until an initial member that never started is lost",
      given: withRemoval(neverCame(20_000), "my-etcd-2", "never-started"),
      expect: "wait",
    },
    {
      name: "removes an initial member that never started once it is lost",
      given: withRemoval(neverCame(300_000), "my-etcd-2", "never-started"),
      expect: "removeMember my-etcd-2",
    },
    {
      name: "moves the leadership to the most advanced member",
      given: withIndexes(abdicating, { "my-etcd-0": 11, "my-etcd-1": 12, "my-etcd-2": 10, "my-etcd-3": 20 }),
      expect: "moveLeader to my-etcd-1",
    },
    {
      name: "moves the leadership to the most advanced member also when it has a higher ordinal",
      given: withIndexes(abdicating, { "my-etcd-0": 10, "my-etcd-1": 11, "my-etcd-2": 12, "my-etcd-3": 20 }),
      expect: "moveLeader to my-etcd-2",
    },
    {
      name: "moves the leadership to the lowest ordinal among equally advanced members",
      given: withIndexes(abdicating, { "my-etcd-0": 12, "my-etcd-1": 12, "my-etcd-2": 11, "my-etcd-3": 20 }),
      expect: "moveLeader to my-etcd-0",
    },
  ],
  fence: [
    {
      name: "fences an initial member that has joined also without a member list",
      given: cluster({ stage: "joined", down: ["my-etcd-1", "my-etcd-2"] }),
      expect: "replacePeer my-etcd-0",
    },
    {
      name: "fences a later member that etcd lists as started, even when it does not answer",
      given: { ...withArrival(wanted5, "my-etcd-3", "started"), endpoints: settled.endpoints },
      expect: "replacePeer my-etcd-3",
    },
    {
      name: "fences a later member that participates even when etcd does not list it as started",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "started")
        .apply(withEachMember, ({ isLearner, clientUrls }) => ({
          clientUrls: isLearner ? [] : clientUrls,
        })).snapshot,
      expect: "replacePeer my-etcd-3",
    },
    {
      name: "does not fence a later member that has not started",
      given: withArrival(wanted5, "my-etcd-3", "added"),
      expect: "nothing",
    },
    {
      name: "does not fence another member's EtcdPeer of the same name",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "started").apply(withPeer, "my-etcd-3", { memberID: "abc" })
        .snapshot,
      expect: "nothing",
    },
    {
      name: "does not fence a later member without a member list",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "added")
        .apply(outageWith, { name: "my-etcd-3", id: LATER_ID }).snapshot,
      expect: "nothing",
    },
  ],
  "recreate-peer": [
    {
      name: "recreates the EtcdPeer of a member",
      given: withoutPeers(settled, "my-etcd-1"),
      expect: "createPeer my-etcd-1",
    },
    {
      name: "proposes the first of several members when guards forbid all of them",
      given: ["my-etcd-0", "my-etcd-1"].reduce(
        (given, name) => withRelease(given, name, "3.4.1"),
        begin(cluster({ down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"] }))
          .apply(withoutPeers, "my-etcd-0", "my-etcd-1")
          .apply(recording, undefined, undefined, "3.6.16").snapshot,
      ),
      expect: "createPeer my-etcd-0",
    },
    {
      name: "does not recreate the EtcdPeer of an initial member with a volume while the cluster forms",
      given: withoutPeers(cluster({ stage: "starting", with: { claims: [claim("my-etcd-1")] } }), "my-etcd-1"),
      expect: "nothing",
    },
    {
      name: "recreates the EtcdPeer of a later member",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(withEachMember, () => ({ isLearner: false }))
        .apply(withoutPeers, "my-etcd-3").snapshot,
      expect: "createPeer my-etcd-3",
    },
    {
      name: "does not recreate the EtcdPeer of a later member that has not started",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "added", { peer: false }).apply(withUnboundLearner)
        .snapshot,
      expect: "nothing",
    },
    {
      name: "does not recreate the EtcdPeer of a member that was added again with another ID",
      given: begin(settled)
        .apply(withEachMember, ({ name }) =>
          name === "my-etcd-1" ? { id: memberIdFromHex(LATER_ID), name: "", clientUrls: [] } : {},
        )
        .apply(withoutPeers, "my-etcd-1").snapshot,
      expect: "nothing",
    },
    {
      name: "does not recreate the EtcdPeer of an initial member before it is recorded as joined",
      given: begin(settled).apply(withJoined, 2).apply(withoutPeers, "my-etcd-2").snapshot,
      expect: "nothing",
    },
    {
      name: "without a member list, recreates the EtcdPeer of a recorded member that has a claim",
      given: begin(wanted5).apply(withUnboundLearner).apply(outageWith, { name: "my-etcd-3", id: LATER_ID }).snapshot,
      expect: "createPeer my-etcd-3",
    },
  ],
  "recreate-learner": [
    {
      name: "recreates the EtcdPeer of a learner that has not started",
      given: withArrival(wanted5, "my-etcd-3", "added", { peer: false }),
      expect: "createPeer my-etcd-3",
    },
    {
      name: "does not recreate the EtcdPeer of a learner that has started",
      given: withArrival(wanted5, "my-etcd-3", "started", { peer: false }),
      expect: "nothing",
    },
  ],
  "promote-learner": [
    {
      name: "promotes a learner that has caught up",
      given: withArrival(wanted5, "my-etcd-3", "synced"),
      expect: "promote my-etcd-3",
    },
    {
      name: "does not promote a voter that has not started",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(withEachMember, ({ isLearner }) => (isLearner ? { isLearner: false, clientUrls: [] } : {})).snapshot,
      expect: "nothing",
    },
  ],
  "delete-peer-of-removed": [
    {
      name: "first sets the claim finalizer on the EtcdPeer of a removed member",
      given: withoutMember(settled, "my-etcd-2"),
      expect: "releaseClaim my-etcd-2",
    },
    {
      name: "ignores an EtcdPeer that is already being deleted",
      given: begin(settled).apply(withoutMember, "my-etcd-2").apply(withDyingPeer, "my-etcd-2").snapshot,
      expect: "nothing",
    },
    {
      name: "deletes an intent that has a cleanup finalizer",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "intended")
        .apply(changedPeer, "my-etcd-3", {
          finalizers: [CLEANUP_FINALIZER],
        }).snapshot,
      expect: "deletePeer my-etcd-3",
    },
  ],
  "identify-member": [
    {
      name: "records the member ID in an intent after etcd has added its member",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "added").apply(withIntent).snapshot,
      expect: "replacePeer my-etcd-3",
    },
    {
      name: "ignores an intent that is being deleted, although etcd has added its member",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "added").apply(withIntent).apply(withDyingPeer, "my-etcd-3")
        .snapshot,
      expect: "nothing",
    },
    {
      name: "ignores an intent with a cleanup finalizer, although etcd has added its member",
      given: begin(wanted5)
        .apply(withArrival, "my-etcd-3", "added")
        .apply(withIntent)
        .apply(changedPeer, "my-etcd-3", {
          finalizers: [CLEANUP_FINALIZER],
        }).snapshot,
      expect: "nothing",
    },
  ],
  "withdraw-learner": [
    {
      name: "removes a surplus learner",
      given: withArrival(settled, "my-etcd-3", "started"),
      expect: "markRemoval my-etcd-3 scale-down",
    },
    {
      name: "does not record a second removal of a learner",
      given: begin(settled).apply(withArrival, "my-etcd-3", "started").apply(withRemoval, "my-etcd-3", "replacement")
        .snapshot,
      expect: "nothing",
    },
  ],
  "replace-lost": [
    {
      name: "does not delete an intent that is already being deleted",
      given: begin(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }))
        .apply(sickFor, "my-etcd-1", 300_000)
        .apply(withArrival, "my-etcd-3", "intended")
        .apply(withDyingPeer, "my-etcd-3").snapshot,
      expect: "markRemoval my-etcd-1 replacement",
    },
  ],
  "scale-down": [
    {
      name: "does not delete an intent that is already being deleted",
      given: begin(cluster({ spec: { replicas: 1 } }))
        .apply(withArrival, "my-etcd-3", "intended")
        .apply(withDyingPeer, "my-etcd-3").snapshot,
      expect: "markRemoval my-etcd-2 scale-down",
    },
    {
      name: "chooses no second member while a scale-down is recorded",
      given: withRemoval(cluster({ spec: { replicas: 2 } }), "my-etcd-2", "scale-down"),
      expect: "nothing",
    },
  ],
  "scale-up": [
    {
      name: "does not report a managed learner as foreign",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "synced").apply(withArrival, "my-etcd-4", "intended")
        .snapshot,
      expect: "addLearner my-etcd-4",
    },
    {
      name: "does not delete an intent that is already being deleted",
      given: begin(settled).apply(withArrival, "my-etcd-3", "intended").apply(withDyingPeer, "my-etcd-3").snapshot,
      expect: "nothing",
    },
    {
      name: "skips a name that a claim outside the cache has",
      given: { ...wanted5, unseenClaims: present([claim("my-etcd-3")]) },
      expect: "createPeer my-etcd-4",
    },
    {
      name: "creates no intent while claims outside the cache could not be read",
      given: { ...wanted5, unseenClaims: unknown("no answer") },
      expect: "wait",
    },
    {
      name: "adds no member while claims outside the cache could not be read",
      given: { ...withArrival(wanted5, "my-etcd-3", "intended"), unseenClaims: unknown("no answer") },
      expect: "wait",
    },
    {
      name: "deletes an intent when a claim outside the cache has its name",
      given: { ...withArrival(wanted5, "my-etcd-3", "intended"), unseenClaims: present([claim("my-etcd-3")]) },
      expect: "deletePeer my-etcd-3",
    },
    {
      name: "deletes an intent when a cached claim has its name",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "intended").apply(withBoundLearner).snapshot,
      expect: "deletePeer my-etcd-3",
    },
    {
      name: "adds the member of an intent when the claim outside the cache has another name",
      given: { ...withArrival(wanted5, "my-etcd-3", "intended"), unseenClaims: present([claim("my-etcd-4")]) },
      expect: "addLearner my-etcd-3",
    },
    {
      name: "waits for the name of an EtcdPeer that is being deleted",
      given: begin(wanted5).apply(withArrival, "my-etcd-3", "intended").apply(withDyingPeer, "my-etcd-3").snapshot,
      expect: "wait",
    },
  ],
  "give-up-learner": [
    { name: "gives a learner ten minutes to start", given: stuck(600_000), expect: "nothing" },
    {
      name: "removes a learner that did not start within ten minutes",
      given: stuck(600_100),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "gives a learner half an hour when earlier attempts took half an hour",
      given: triedBefore(stuck(hours(0.5)), hours(0.5)),
      expect: "nothing",
    },
    {
      name: "removes a learner after half an hour when earlier attempts took half an hour",
      given: triedBefore(stuck(hours(0.5) + 1), hours(0.5)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "removes a learner after six hours, however long earlier attempts took",
      given: triedBefore(stuck(hours(6) + 1), hours(48)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "removes a learner of the first attempt after ten minutes, however long the cluster was not Ready",
      given: readySince(stuck(600_100), "False", hours(12)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "removes a learner that never ran immediately when a voter is lost",
      given: withLost(stuck(1_000)),
      expect: "markRemoval my-etcd-3 never-started",
    },
    {
      name: "removes a started learner that did not catch up in ten minutes, however long earlier attempts took",
      given: begin(slow(600_100)).apply(triedBefore, hours(9)).apply(withBoundLearner).snapshot,
      expect: "markRemoval my-etcd-3 never-voted",
    },
    {
      name: "keeps the claim of a started learner when the cache does not have it",
      given: triedBefore(slow(600_100), hours(9)),
      expect: "markRemoval my-etcd-3 replacement",
    },
    {
      name: "does not remove a learner that was never observed",
      given: withArrival(wanted5, "my-etcd-3", "started"),
      expect: "nothing",
    },
    {
      name: "does not record a second removal of a learner",
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

test("give-up-learner: the deadline of a learner grows by one second for each 5 MiB of data", () => {
  const status = {
    ...endpointStatus(clusterID, initialMembers[0]!.id, initialMembers[0]!.id),
    dbSizeBytes: 300 * 1024 * 1024,
  };
  const large = { ...settled, endpoints: new Map([...settled.endpoints, ["my-etcd-0", present(status)] as const]) };
  expect(learnerDeadlineMs(large)).toBe(660_000);
  expect(learnerDeadlineMs({ ...settled, endpoints: new Map() })).toBe(600_000);
});

import { present } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import {
  changedPeer,
  claim,
  cluster,
  endpointStatus,
  knownFor,
  LATER_ID,
  sickFor,
  unpublished,
  withArrival,
  withBudget,
  withoutMember,
  withRemoval,
} from "#kit/cluster.ts";
import {
  listIn,
  readySince,
  THEIRS,
  withEachMember,
  withIntent,
  withJoined,
  withMember,
  withMembers,
  withoutPeers,
  withStraggler,
  withUnboundLearner,
  withUnfencedPod,
} from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";
import { withRunning } from "#kit/cluster-rolling.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";

// Who comes, who gets a vote, and who goes.

const m1Id = cluster().cluster.status!.identity!.initialMembers[1]!.id;
const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
const lost5 = sickFor(cluster({ replicas: 5, spec: { replicas: 6 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
/** Two of three have joined; the third is listed, and has never started. */
const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false });

/** No quorum; by the record there is a learner my-etcd-3, of which etcd cannot tell. It has no peer. */
function withRecordedLearner(claims: readonly PersistentVolumeClaim[]): ClusterSnapshot {
  const snapshot = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
  const voters = snapshot.cluster.status!.identity!.initialMembers.map(({ name, id }) => ({
    name,
    id,
    learner: false,
  }));
  const known = [...voters, { name: "my-etcd-3", id: LATER_ID, learner: true }];
  const members = known.map((member) => ({ ...member, healthy: false, leader: false }));
  const status = { ...snapshot.cluster.status, members };
  return { ...snapshot, cluster: { ...snapshot.cluster, status }, claims: [...snapshot.claims, ...claims] };
}

/** Two of three have joined, one of them is down, and the EtcdPeer of the third is gone. */
function withStrangerToRecord(claims: readonly PersistentVolumeClaim[]): ClusterSnapshot {
  const snapshot = withoutPeers(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2");
  return { ...withJoined(snapshot, 2), claims };
}

/** etcd has not heard of the later member's name yet. */
function unnamed(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withEachMember(snapshot, ({ isLearner }) => (isLearner ? { name: "", clientUrls: [] } : {}));
}

/** A learner whose claim has no volume, known for so long. */
function stuckLearner(knownMs: number): ClusterSnapshot {
  const arrival = withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added");
  return knownFor(withUnboundLearner(arrival), LATER_ID, knownMs);
}

/** The snapshot with a voter that a person added. */
function withForeigner(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withBudget(withMember(snapshot, THEIRS));
}

/** The same, and it answers. */
function withForeignVoter(snapshot: ClusterSnapshot): ClusterSnapshot {
  const status = endpointStatus(snapshot.cluster.status!.identity!.clusterID, "f00", m1Id);
  const answering = { ...snapshot, endpoints: new Map([...snapshot.endpoints, ["theirs", present(status)] as const]) };
  return withForeigner(answering);
}

/** Everybody that answers follows this member. */
function ledBy(snapshot: ClusterSnapshot, id: string): ClusterSnapshot {
  const endpoints = [...snapshot.endpoints].map(([name, answer]) => {
    const led = answer.is === "present" ? present({ ...answer.value, leaderId: memberIdFromHex(id) }) : answer;
    return [name, led] as const;
  });
  return { ...snapshot, endpoints: new Map(endpoints) };
}

/** The foreign voter calls itself as one of ours does. */
function withNamesake(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const grown = withForeignVoter(snapshot);
  const { members } = listIn(withEachMember(grown, (member) => (member.name === "theirs" ? { name } : {})));
  return withMembers(grown, members.toReversed());
}

function withForeignLearner(snapshot: ClusterSnapshot): ClusterSnapshot {
  const grown = withForeignVoter(snapshot);
  return withBudget(withEachMember(grown, ({ name }) => (name === "theirs" ? { isLearner: true } : {})));
}

function withOtherUrl(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const elsewhere = { name: "renamed", peerUrls: ["http://10.1.2.3:2380"] };
  return withEachMember(snapshot, (member) => (member.name === name ? elsewhere : {}));
}

testPlans("membership", [
  {
    name: "gives a joined member its peer back, fenced",
    given: withoutPeers(cluster(), "my-etcd-2"),
    expect: "restore-peer: createPeer my-etcd-2 fenced",
  },
  {
    name: "gives it back without a quorum too",
    given: withoutPeers(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
    expect: "restore-peer: createPeer my-etcd-2 fenced",
  },
  {
    name: "gives who was a learner when it was last asked its peer back, when nobody can be asked: it may have its vote",
    given: withRecordedLearner([claim("my-etcd-3")]),
    expect: "restore-peer: createPeer my-etcd-3 fenced",
  },
  {
    name: "but not when it has no claim, and so no data to return with",
    given: withBudget(withRecordedLearner([])),
    expect: "warn: await-quorum",
  },
  {
    name: "nor when its claim never had a volume",
    given: withBudget(withRecordedLearner([claim("my-etcd-3", {}, { bound: false })])),
    expect: "warn: await-quorum",
  },
  {
    name: "gives a first member that is not on record as joined its peer back in an outage: with its volume it may be what the quorum lacks",
    given: withStrangerToRecord([claim("my-etcd-2")]),
    expect: "restore-peer: createPeer my-etcd-2 fenced",
  },
  {
    name: "but not without a volume: it would never start",
    given: withStrangerToRecord([]),
    expect: "warn: await-quorum",
  },
  {
    name: "touches nothing without quorum",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"] }),
    expect: "warn: await-quorum",
  },
  {
    name: "touches nothing without quorum, whatever replicas says",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"], spec: { replicas: 5 } }),
    expect: "warn: await-quorum",
  },
  {
    name: "asks for one more member before it adds one",
    given: cluster({ spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "adds the member that it asked for, as a learner",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended"),
    expect: "scale-up: addLearner http://my-etcd-3.my-etcd.foo.svc:2380",
  },
  {
    name: "adds a member under the name of a first member that has left",
    given: withArrival(withoutPeers(withoutMember(cluster(), "my-etcd-2"), "my-etcd-2"), "my-etcd-2", "intended"),
    expect: "scale-up: addLearner http://my-etcd-2.my-etcd.foo.svc:2380",
  },
  {
    name: "lets go of what it asked for when it is not wanted any more",
    given: withArrival(cluster(), "my-etcd-3", "intended"),
    expect: "scale-up: deletePeer my-etcd-3",
  },
  {
    name: "lets go of it also when fewer are wanted than there are",
    given: withIntent(cluster({ spec: { replicas: 1 } })),
    expect: "scale-down: deletePeer my-etcd-3",
  },
  {
    name: "adds nobody while a member is sick",
    given: withArrival(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-3", "intended"),
    expect: "wait: scale-up",
  },
  {
    name: "recognises the member that it asked for",
    given: withIntent(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added", { peer: false })),
    expect: "identify-member: replacePeer my-etcd-3 Existing",
  },
  {
    name: "gives a member that was added its peer back",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added", { peer: false }),
    expect: "restore-learner: createPeer my-etcd-3 Existing",
  },
  {
    name: "adds no second one while one is on its way",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added"),
    expect: "wait: await-learner",
  },
  {
    name: "gives a learner that has caught up its vote",
    given: withBudget(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced")),
    expect: "promote-learner: promote my-etcd-3",
  },
  {
    name: "gives it its vote also while its client port is silent: its own health check has read linearizably",
    given: withBudget(unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3")),
    expect: "promote-learner: promote my-etcd-3",
  },
  {
    name: "but not before it has told its name: a voter without one would be taken for one that has yet to start",
    given: unnamed(unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3")),
    expect: "wait: await-learner",
  },
  {
    name: "gives no vote to whoever else passes at its address",
    given: unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3", "abc"),
    expect: "wait: await-learner",
  },
  {
    name: "adds the next one while a member takes part and does not serve clients yet",
    given: unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended"), "my-etcd-2"),
    expect: "scale-up: addLearner http://my-etcd-3.my-etcd.foo.svc:2380",
  },
  {
    name: "takes a removal back when the member takes part again",
    given: withRemoval(unpublished(cluster(), "my-etcd-1"), "my-etcd-1", "replacement"),
    expect: "remove-member: markRemoval my-etcd-1 none",
  },
  {
    name: "chooses one that does not serve clients before those that do",
    given: unpublished(cluster({ replicas: 5, spec: { replicas: 3 } }), "my-etcd-1"),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "and a sick one before that",
    given: unpublished(cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-2"] }), "my-etcd-1"),
    expect: "scale-down: markRemoval my-etcd-2 scale-down",
  },
  {
    name: "lets one go that does not serve clients",
    given: withRemoval(
      unpublished(cluster({ replicas: 5, spec: { replicas: 3 } }), "my-etcd-1"),
      "my-etcd-1",
      "scale-down",
    ),
    expect: "remove-member: removeMember my-etcd-1",
  },
  {
    name: "takes a learner back that does not arrive",
    given: knownFor(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added"), LATER_ID, 601_000),
    expect: "give-up-learner: markRemoval my-etcd-3 replacement",
  },
  {
    name: "gives a learner its time, however old its EtcdPeer looks by the clock of this node",
    given: knownFor(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added"), LATER_ID, 599_000),
    expect: "wait: await-learner",
  },
  {
    name: "chooses the highest ordinal to go",
    given: cluster({ replicas: 5, spec: { replicas: 3 } }),
    expect: "scale-down: markRemoval my-etcd-4 scale-down",
  },
  {
    name: "chooses a sick one to go before",
    given: cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "removes whom it has chosen",
    given: withRemoval(cluster({ spec: { replicas: 2 } }), "my-etcd-2", "scale-down"),
    expect: "remove-member: removeMember my-etcd-2",
  },
  {
    name: "moves the leadership away first",
    given: withRemoval(cluster({ spec: { replicas: 2 }, leader: "my-etcd-2" }), "my-etcd-2", "scale-down"),
    expect: "remove-member: moveLeader my-etcd-2 to my-etcd-0",
  },
  {
    name: "takes a removal back that is not wanted any more",
    given: withRemoval(cluster(), "my-etcd-2", "scale-down"),
    expect: "remove-member: markRemoval my-etcd-2 none",
  },
  {
    name: "takes a removal back also while another member is about to come",
    given: withRemoval(
      withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "intended"),
      "my-etcd-2",
      "scale-down",
    ),
    expect: "remove-member: markRemoval my-etcd-2 none",
  },
  {
    name: "takes a second removal back, instead of letting two wait for each other",
    given: withRemoval(
      withRemoval(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }), "my-etcd-1", "replacement"),
      "my-etcd-3",
      "replacement",
    ),
    expect: "remove-member: markRemoval my-etcd-3 none",
  },
  {
    name: "takes a replacement back when the member is healthy again",
    given: withRemoval(cluster(), "my-etcd-2", "replacement"),
    expect: "remove-member: markRemoval my-etcd-2 none",
  },
  {
    name: "lets a sick member go instead of the one that it had chosen",
    given: withRemoval(cluster({ replicas: 4, spec: { replicas: 3 }, down: ["my-etcd-0"] }), "my-etcd-3", "scale-down"),
    expect: "remove-member: markRemoval my-etcd-3 none",
  },
  {
    name: "has the claim of a surplus member deleted, only after etcd has let it go",
    given: withRemoval(withoutMember(cluster({ spec: { replicas: 2 } }), "my-etcd-2"), "my-etcd-2", "scale-down"),
    expect: "retire-peer: releaseClaim my-etcd-2 pvc-cleanup",
  },
  {
    name: "has the claim of a member kept that somebody else removed",
    given: withoutMember(cluster(), "my-etcd-2"),
    expect: "retire-peer: releaseClaim my-etcd-2 pvc-quarantine",
  },
  {
    name: "deletes the peer once its claim is seen to",
    given: changedPeer(withoutMember(cluster(), "my-etcd-2"), "my-etcd-2", {
      finalizers: ["etcdpeer.etcd.improbable.io/pvc-quarantine"],
    }),
    expect: "retire-peer: deletePeer my-etcd-2",
  },
  {
    name: "removes a lost member although none is to spare: nothing is lost by it",
    given: withRemoval(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000), "my-etcd-1", "replacement"),
    expect: "remove-member: removeMember my-etcd-1",
  },
  {
    name: "gives nobody up without a quorum",
    given: sickFor(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-1", 3_000_000),
    expect: "warn: await-quorum",
  },
  {
    name: "a first member that never came is not started any more once etcd does not list it",
    given: withoutPeers(withoutMember(straggler, "my-etcd-2"), "my-etcd-2"),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "a removal on record is taken back when the leader hears the member after all",
    given: withRemoval({ ...lost, heard: new Set([m1Id]) }, "my-etcd-1", "replacement"),
    expect: "remove-member: markRemoval my-etcd-1 none",
  },
  {
    name: "a process that has not seen enough of it removes nobody on the word of an earlier one",
    given: withRemoval(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 20_000), "my-etcd-1", "replacement"),
    expect: "wait: remove-member",
  },
  {
    name: "a leader that has to go and gives no answer is removed through another member",
    given: withRemoval(
      cluster({ spec: { replicas: 2 }, leader: "my-etcd-2", down: ["my-etcd-2"] }),
      "my-etcd-2",
      "scale-down",
    ),
    expect: "remove-member: removeMember my-etcd-2",
  },
  {
    name: "a member of somebody else that bears the name of one of ours is not taken for it",
    given: withoutPeers(withNamesake(cluster(), "my-etcd-1"), "my-etcd-1"),
    expect: "restore-peer: createPeer my-etcd-1 fenced",
  },
  {
    name: "an intent that was on its way out is not resumed, although etcd has added its member by now",
    given: changedPeer(withIntent(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added")), "my-etcd-3", {
      finalizers: ["etcdpeer.etcd.improbable.io/pvc-cleanup"],
    }),
    expect: "retire-peer: deletePeer my-etcd-3",
  },
  {
    name: "a learner that never ran is given up, and its claim with it",
    given: stuckLearner(601_000),
    expect: "give-up-learner: markRemoval my-etcd-3 never-started",
  },
  {
    name: "one that never ran is waited for as long as all tries before it took together",
    given: readySince(stuckLearner(601_000), "False", 2 * 3_600_000),
    expect: "wait: await-learner",
  },
  {
    name: "a learner that has run keeps its claim when it is given up",
    given: knownFor(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "started"), LATER_ID, 601_000),
    expect: "fence: replacePeer my-etcd-3 fenced",
  },
  {
    name: "a learner that is not wanted any more is taken back before it gets its vote: its claim goes, since somebody asked for fewer",
    given: withBudget(withArrival(cluster(), "my-etcd-3", "synced")),
    expect: "take-back-learner: markRemoval my-etcd-3 scale-down",
  },
  {
    name: "a learner that is on its way out gets no vote",
    given: withRemoval(withBudget(withArrival(cluster(), "my-etcd-3", "synced")), "my-etcd-3", "scale-down"),
    expect: "remove-member: removeMember my-etcd-3",
  },
  {
    name: "a learner gets its vote also while somebody else's member leads, whom nobody here can ask",
    given: withBudget(
      ledBy(withForeigner(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced")), "f00"),
    ),
    expect: "promote-learner: promote my-etcd-3",
  },
  {
    name: "of two that are to leave the learner goes first",
    given: withRemoval(
      withRemoval(withArrival(lost5, "my-etcd-5", "synced"), "my-etcd-1", "replacement"),
      "my-etcd-5",
      "replacement",
    ),
    expect: "remove-member: removeMember my-etcd-5",
  },
  {
    name: "a learner that nobody can fence is given up like any other",
    given: withRunning(
      withUnfencedPod(
        knownFor(
          withBudget(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced")),
          LATER_ID,
          3_600_000,
        ),
        "my-etcd-3",
      ),
      "my-etcd-3",
    ),
    expect: "give-up-learner: markRemoval my-etcd-3 replacement",
  },
  {
    name: "a voter that a person added costs none of ours",
    given: withForeignVoter(cluster()),
    expect: "settled",
  },
  {
    name: "nor does it count as one that is wanted",
    given: withForeignVoter(cluster({ spec: { replicas: 4 } })),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "a learner that a person added takes the only place for one: it is waited for, and said",
    given: withForeignLearner(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended")),
    expect: "warn: scale-up",
  },
  {
    name: "a member is known by its ID, whatever somebody made of its peer URL",
    given: withOtherUrl(cluster(), "my-etcd-1"),
    expect: "settled",
  },
]);

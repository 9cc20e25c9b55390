import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { present, unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
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
  unpublished,
  withArrival,
  withBudget,
  withoutMember,
  withRemoval,
} from "#kit/snapshots/cluster.ts";
import {
  listIn,
  THEIRS,
  withEachMember,
  withIntent,
  withJoined,
  withMember,
  withMembers,
  withoutClaim,
  withoutPeers,
  withStraggler,
  withUnboundLearner,
  withUnfencedPod,
} from "#kit/snapshots/cluster-changes.ts";
import { recording, withRelease, withRunning } from "#kit/snapshots/cluster-rolling.ts";
import { rulesIn, testPlans } from "#kit/tables/cluster-plan.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";

// Joining, promotion and removal of members.

const m1Id = cluster().cluster.status!.identity!.initialMembers[1]!.id;
const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
const lost5 = sickFor(cluster({ replicas: 5, spec: { replicas: 6 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
/** Two of three have joined. The third is listed and has never started. */
const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false });

/** No quorum. The status has a learner my-etcd-3 without an EtcdPeer. */
function withRecordedLearner(claims: readonly PersistentVolumeClaim[]): ClusterSnapshot {
  const snapshot = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
  const voters = snapshot.cluster.status!.identity!.initialMembers.map(({ name, id }) => ({
    name,
    id,
    role: "Voter" as const,
  }));
  const known = [...voters, { name: "my-etcd-3", id: LATER_ID, role: "Learner" as const }];
  const members = known.map((member) => ({ ...member, health: "Unhealthy" as const }));
  const status = { ...snapshot.cluster.status, members };
  return { ...snapshot, cluster: { ...snapshot.cluster, status }, claims: [...snapshot.claims, ...claims] };
}

/** Two of three have joined, one of them is down, and the EtcdPeer of the third is gone. */
function withStrangerToRecord(claims: readonly PersistentVolumeClaim[]): ClusterSnapshot {
  const snapshot = withoutPeers(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2");
  return { ...withJoined(snapshot, 2), claims };
}

/** The later member has not published its name yet. */
function unnamed(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withEachMember(snapshot, ({ isLearner }) => (isLearner ? { name: "", clientUrls: [] } : {}));
}

/** A learner with an unbound claim, known for this long. */
function stuckLearner(knownMs: number): ClusterSnapshot {
  const arrival = withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added");
  return begin(arrival).apply(withUnboundLearner).apply(knownFor, LATER_ID, knownMs).snapshot;
}

/** The snapshot with a voter that was added by hand. */
function withForeigner(snapshot: ClusterSnapshot): ClusterSnapshot {
  return begin(snapshot).apply(withMember, THEIRS).apply(withBudget).snapshot;
}

/** The snapshot with an answering voter that was added by hand. */
function withForeignVoter(snapshot: ClusterSnapshot): ClusterSnapshot {
  const status = endpointStatus(snapshot.cluster.status!.identity!.clusterID, "f00", m1Id);
  const answering = { ...snapshot, endpoints: new Map([...snapshot.endpoints, ["theirs", present(status)] as const]) };
  return withForeigner(answering);
}

/** All answering members follow this leader. */
function ledBy(snapshot: ClusterSnapshot, id: string): ClusterSnapshot {
  const endpoints = [...snapshot.endpoints].map(([name, answer]) => {
    const led = answer.is === "present" ? present({ ...answer.value, leaderId: memberIdFromHex(id) }) : answer;
    return [name, led] as const;
  });
  return { ...snapshot, endpoints: new Map(endpoints) };
}

/** The foreign voter has the name of a managed member. */
function withNamesake(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const grown = withForeignVoter(snapshot);
  const { members } = listIn(withEachMember(grown, (member) => (member.name === "theirs" ? { name } : {})));
  return withMembers(grown, members.toReversed());
}

function withForeignLearner(snapshot: ClusterSnapshot): ClusterSnapshot {
  const grown = withForeignVoter(snapshot);
  return begin(grown)
    .apply(withEachMember, ({ name }) => (name === "theirs" ? { isLearner: true } : {}))
    .apply(withBudget).snapshot;
}

function withOtherUrl(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const elsewhere = { name: "renamed", peerUrls: ["http://10.1.2.3:2380"] };
  return withEachMember(snapshot, (member) => (member.name === name ? elsewhere : {}));
}

testPlans(
  "src/cluster/members",
  [
    {
      name: "recreates the EtcdPeer of a joined member, fenced",
      given: withoutPeers(cluster(), "my-etcd-2"),
      expect: "recreate-peer: createPeer my-etcd-2 fenced",
    },
    {
      name: "recreates other EtcdPeers before the EtcdPeer of a member with an unreachable release",
      given: begin(cluster({ down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"] }))
        .apply(withoutPeers, "my-etcd-0", "my-etcd-1", "my-etcd-2")
        .apply(recording, undefined, "3.6.16", "3.6.16")
        .apply(withRelease, "my-etcd-0", "3.4.1").snapshot,
      expect: "recreate-peer: createPeer my-etcd-1 fenced",
    },
    {
      name: "recreates the EtcdPeer of a joined member also without a quorum",
      given: withoutPeers(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
      expect: "recreate-peer: createPeer my-etcd-2 fenced",
    },
    {
      name: "warns that no member is added while claims outside the cache could not be read",
      given: { ...cluster({ spec: { replicas: 5 } }), unseenClaims: unknown("no answer") },
      expect: "warn: scale-up",
    },
    {
      name: "recreates the EtcdPeer of a recorded learner without a member list: it may be a voter",
      given: withRecordedLearner([claim("my-etcd-3")]),
      expect: "recreate-peer: createPeer my-etcd-3 fenced",
    },
    {
      name: "does not recreate the EtcdPeer of a recorded learner without a claim",
      given: withBudget(withRecordedLearner([])),
      expect: "warn: await-quorum",
    },
    {
      name: "does not recreate the EtcdPeer of a recorded learner with an unbound claim",
      given: withBudget(withRecordedLearner([claim("my-etcd-3", {}, { bound: false })])),
      expect: "warn: await-quorum",
    },
    {
      name: "recreates the EtcdPeer of an unrecorded initial member with a volume in an outage",
      given: withStrangerToRecord([claim("my-etcd-2")]),
      expect: "recreate-peer: createPeer my-etcd-2 fenced",
    },
    {
      name: "does not recreate the EtcdPeer of an unrecorded initial member without a volume: it would never start",
      given: withStrangerToRecord([]),
      expect: "warn: await-quorum",
    },
    {
      name: "changes nothing without a quorum",
      given: cluster({ down: ["my-etcd-0", "my-etcd-2"] }),
      expect: "warn: await-quorum",
    },
    {
      name: "changes nothing without a quorum, whatever spec.replicas is",
      given: cluster({ down: ["my-etcd-0", "my-etcd-2"], spec: { replicas: 5 } }),
      expect: "warn: await-quorum",
    },
    {
      name: "records an intent before it adds a member",
      given: cluster({ spec: { replicas: 5 } }),
      expect: "scale-up: createPeer my-etcd-3 Existing",
    },
    {
      name: "adds the member of an intent as a learner",
      given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended"),
      expect: "scale-up: addLearner http://my-etcd-3.my-etcd.foo.svc:2380",
    },
    {
      name: "adds a member under the name of a removed initial member",
      given: begin(cluster())
        .apply(withoutMember, "my-etcd-2")
        .apply(withoutPeers, "my-etcd-2")
        .apply(withArrival, "my-etcd-2", "intended")
        .apply(withoutClaim, "my-etcd-2").snapshot,
      expect: "scale-up: addLearner http://my-etcd-2.my-etcd.foo.svc:2380",
    },
    {
      name: "deletes an intent when another member's claim has its name",
      given: begin(cluster())
        .apply(withoutMember, "my-etcd-2")
        .apply(withoutPeers, "my-etcd-2")
        .apply(withArrival, "my-etcd-2", "intended").snapshot,
      expect: "scale-up: deletePeer my-etcd-2",
    },
    {
      name: "deletes an intent when spec.replicas no longer asks for its member",
      given: withArrival(cluster(), "my-etcd-3", "intended"),
      expect: "scale-up: deletePeer my-etcd-3",
    },
    {
      name: "deletes an intent before it scales down",
      given: withIntent(cluster({ spec: { replicas: 1 } })),
      expect: "scale-down: deletePeer my-etcd-3",
    },
    {
      name: "adds no member while an existing member is down",
      given: withArrival(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-3", "intended"),
      expect: "wait: scale-up",
    },
    {
      name: "records the member ID in an intent after etcd has added its member",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "added", { peer: false })
        .apply(withIntent).snapshot,
      expect: "identify-member: replacePeer my-etcd-3 Existing",
    },
    {
      name: "recreates the EtcdPeer of a learner that has not started",
      given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added", { peer: false }),
      expect: "recreate-learner: createPeer my-etcd-3 Existing",
    },
    {
      name: "adds no second member while a learner is joining",
      given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added"),
      expect: "wait: await-learner",
    },
    {
      name: "promotes a learner that has caught up",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(withBudget).snapshot,
      expect: "promote-learner: promote my-etcd-3",
    },
    {
      name: "promotes a learner that passes its health check before it serves clients",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(unpublished, "my-etcd-3")
        .apply(withBudget).snapshot,
      expect: "promote-learner: promote my-etcd-3",
    },
    {
      name: "does not promote a learner before it has published its name",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(unpublished, "my-etcd-3")
        .apply(unnamed).snapshot,
      expect: "wait: await-learner",
    },
    {
      name: "does not promote a learner when another member ID answers at its address",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(unpublished, "my-etcd-3", "abc").snapshot,
      expect: "wait: await-learner",
    },
    {
      name: "adds a member while an existing member participates but does not serve clients",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "intended")
        .apply(unpublished, "my-etcd-2").snapshot,
      expect: "scale-up: addLearner http://my-etcd-3.my-etcd.foo.svc:2380",
    },
    {
      name: "cancels a replacement when the member participates again, although it does not serve clients",
      given: begin(cluster()).apply(unpublished, "my-etcd-1").apply(withRemoval, "my-etcd-1", "replacement").snapshot,
      expect: "remove-member: markRemoval my-etcd-1 none",
    },
    {
      name: "scales down by a member that does not serve clients before members that do",
      given: unpublished(cluster({ replicas: 5, spec: { replicas: 3 } }), "my-etcd-1"),
      expect: "scale-down: markRemoval my-etcd-1 scale-down",
    },
    {
      name: "scales down by a member that is down before a member that does not serve clients",
      given: unpublished(cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-2"] }), "my-etcd-1"),
      expect: "scale-down: markRemoval my-etcd-2 scale-down",
    },
    {
      name: "removes the chosen member when it does not serve clients",
      given: begin(cluster({ replicas: 5, spec: { replicas: 3 } }))
        .apply(unpublished, "my-etcd-1")
        .apply(withRemoval, "my-etcd-1", "scale-down").snapshot,
      expect: "remove-member: removeMember my-etcd-1",
    },
    {
      name: "records the removal of a learner that has not caught up after ten minutes",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "added")
        .apply(knownFor, LATER_ID, 601_000).snapshot,
      expect: "give-up-learner: markRemoval my-etcd-3 replacement",
    },
    {
      name: "waits ten minutes for a learner to catch up",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "added")
        .apply(knownFor, LATER_ID, 599_000).snapshot,
      expect: "wait: await-learner",
    },
    {
      name: "scales down by the member with the highest ordinal",
      given: cluster({ replicas: 5, spec: { replicas: 3 } }),
      expect: "scale-down: markRemoval my-etcd-4 scale-down",
    },
    {
      name: "scales down by a member that is down before the member with the highest ordinal",
      given: cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }),
      expect: "scale-down: markRemoval my-etcd-1 scale-down",
    },
    {
      name: "removes the member that a scale-down has chosen",
      given: withRemoval(cluster({ spec: { replicas: 2 } }), "my-etcd-2", "scale-down"),
      expect: "remove-member: removeMember my-etcd-2",
    },
    {
      name: "moves the leadership away before it removes the leader",
      given: withRemoval(cluster({ spec: { replicas: 2 }, leader: "my-etcd-2" }), "my-etcd-2", "scale-down"),
      expect: "remove-member: moveLeader my-etcd-2 to my-etcd-0",
    },
    {
      name: "cancels a scale-down when spec.replicas is raised again",
      given: withRemoval(cluster(), "my-etcd-2", "scale-down"),
      expect: "remove-member: markRemoval my-etcd-2 none",
    },
    {
      name: "cancels a scale-down while an intent exists",
      given: begin(cluster({ spec: { replicas: 4 } }))
        .apply(withArrival, "my-etcd-3", "intended")
        .apply(withRemoval, "my-etcd-2", "scale-down").snapshot,
      expect: "remove-member: markRemoval my-etcd-2 none",
    },
    {
      name: "cancels the second of two recorded removals, which block each other",
      given: begin(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }))
        .apply(withRemoval, "my-etcd-1", "replacement")
        .apply(withRemoval, "my-etcd-3", "replacement").snapshot,
      expect: "remove-member: markRemoval my-etcd-3 none",
    },
    {
      name: "cancels a replacement when the member is healthy again",
      given: withRemoval(cluster(), "my-etcd-2", "replacement"),
      expect: "remove-member: markRemoval my-etcd-2 none",
    },
    {
      name: "cancels the scale-down of a healthy member when another member is down",
      given: withRemoval(
        cluster({ replicas: 4, spec: { replicas: 3 }, down: ["my-etcd-0"] }),
        "my-etcd-3",
        "scale-down",
      ),
      expect: "remove-member: markRemoval my-etcd-3 none",
    },
    {
      name: "has the claim of a surplus member deleted after etcd has removed the member",
      given: begin(cluster({ spec: { replicas: 2 } }))
        .apply(withoutMember, "my-etcd-2")
        .apply(withRemoval, "my-etcd-2", "scale-down")
        .apply(withBudget).snapshot,
      expect: "delete-peer-of-removed: releaseClaim my-etcd-2 pvc-cleanup",
    },
    {
      name: "keeps the claim of a member that was removed by hand",
      given: withoutMember(cluster(), "my-etcd-2"),
      expect: "delete-peer-of-removed: releaseClaim my-etcd-2 pvc-quarantine",
    },
    {
      name: "deletes the EtcdPeer of a removed member once it has a claim finalizer",
      given: begin(cluster())
        .apply(withoutMember, "my-etcd-2")
        .apply(changedPeer, "my-etcd-2", {
          finalizers: ["etcdpeer.etcd.improbable.io/pvc-quarantine"],
        }).snapshot,
      expect: "delete-peer-of-removed: deletePeer my-etcd-2",
    },
    {
      name: "keeps a quarantined claim when the recorded removal reason changes",
      given: begin(cluster())
        .apply(withoutMember, "my-etcd-2")
        .apply(changedPeer, "my-etcd-2", {
          annotations: { [REMOVAL_ANNOTATION]: "never-voted" },
          finalizers: ["etcdpeer.etcd.improbable.io/pvc-quarantine"],
        }).snapshot,
      expect: "delete-peer-of-removed: deletePeer my-etcd-2",
    },
    {
      name: "removes a lost member although the remaining voters have none to spare",
      given: begin(cluster({ down: ["my-etcd-1"] }))
        .apply(sickFor, "my-etcd-1", 300_000)
        .apply(withRemoval, "my-etcd-1", "replacement").snapshot,
      expect: "remove-member: removeMember my-etcd-1",
    },
    {
      name: "replaces no member without a quorum",
      given: sickFor(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-1", 3_000_000),
      expect: "warn: await-quorum",
    },
    {
      name: "adds a new member instead of an initial member that etcd no longer lists",
      given: begin(straggler).apply(withoutMember, "my-etcd-2").apply(withoutPeers, "my-etcd-2").snapshot,
      expect: "scale-up: createPeer my-etcd-3 Existing",
    },
    {
      name: "cancels a removal when the leader has raft traffic from the member",
      given: withRemoval({ ...lost, heard: new Set([m1Id]) }, "my-etcd-1", "replacement"),
      expect: "remove-member: markRemoval my-etcd-1 none",
    },
    {
      name: "does not remove a member before this process has observed its loss for long enough",
      given: begin(cluster({ down: ["my-etcd-1"] }))
        .apply(sickFor, "my-etcd-1", 20_000)
        .apply(withRemoval, "my-etcd-1", "replacement").snapshot,
      expect: "wait: remove-member",
    },
    {
      name: "removes a leader that is down without moving its leadership",
      given: withRemoval(
        cluster({ spec: { replicas: 2 }, leader: "my-etcd-2", down: ["my-etcd-2"] }),
        "my-etcd-2",
        "scale-down",
      ),
      expect: "remove-member: removeMember my-etcd-2",
    },
    {
      name: "recreates the EtcdPeer of a member although a foreign member has the same name",
      given: begin(cluster()).apply(withNamesake, "my-etcd-1").apply(withoutPeers, "my-etcd-1").snapshot,
      expect: "recreate-peer: createPeer my-etcd-1 fenced",
    },
    {
      name: "does not resume an intent that is being deleted, although etcd has added its member",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "added")
        .apply(withIntent)
        .apply(changedPeer, "my-etcd-3", {
          finalizers: ["etcdpeer.etcd.improbable.io/pvc-cleanup"],
        }).snapshot,
      expect: "delete-peer-of-removed: deletePeer my-etcd-3",
    },
    {
      name: "records the removal of a learner that never ran so that its claim is deleted",
      given: stuckLearner(601_000),
      expect: "give-up-learner: markRemoval my-etcd-3 never-started",
    },
    {
      name: "waits for a learner that never ran for as long as all earlier attempts took together",
      given: triedBefore(stuckLearner(601_000), 3_600_000),
      expect: "wait: await-learner",
    },
    {
      name: "fences a learner that has run before it gives it up",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "started")
        .apply(knownFor, LATER_ID, 601_000).snapshot,
      expect: "fence: replacePeer my-etcd-3 fenced",
    },
    {
      name: "records the removal of a surplus learner instead of promoting it",
      given: begin(cluster()).apply(withArrival, "my-etcd-3", "synced").apply(withBudget).snapshot,
      expect: "withdraw-learner: markRemoval my-etcd-3 scale-down",
    },
    {
      name: "removes a learner with a recorded removal instead of promoting it",
      given: begin(cluster())
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(withBudget)
        .apply(withRemoval, "my-etcd-3", "scale-down").snapshot,
      expect: "remove-member: removeMember my-etcd-3",
    },
    {
      name: "promotes a learner while a foreign member is the leader",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(withForeigner)
        .apply(ledBy, "f00")
        .apply(withBudget).snapshot,
      expect: "promote-learner: promote my-etcd-3",
    },
    {
      name: "removes a learner before a voter when both removals are recorded",
      given: begin(lost5)
        .apply(withArrival, "my-etcd-5", "synced")
        .apply(withRemoval, "my-etcd-1", "replacement")
        .apply(withRemoval, "my-etcd-5", "replacement").snapshot,
      expect: "remove-member: removeMember my-etcd-5",
    },
    {
      name: "records the removal of an overdue learner with a running pod that is not fenced",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(withBudget)
        .apply(knownFor, LATER_ID, 3_600_000)
        .apply(withUnfencedPod, "my-etcd-3")
        .apply(withRunning, "my-etcd-3").snapshot,
      expect: "give-up-learner: markRemoval my-etcd-3 replacement",
    },
    {
      name: "does not scale down because of a voter that was added by hand",
      given: withForeignVoter(cluster()),
      expect: "settled",
    },
    {
      name: "adds a managed member although a voter was added by hand",
      given: withForeignVoter(cluster({ spec: { replicas: 4 } })),
      expect: "scale-up: createPeer my-etcd-3 Existing",
    },
    {
      name: "warns and adds no member while a learner that was added by hand is joining",
      given: begin(cluster({ spec: { replicas: 5 } }))
        .apply(withArrival, "my-etcd-3", "intended")
        .apply(withForeignLearner).snapshot,
      expect: "warn: scale-up",
    },
    {
      name: "identifies a member by its ID, whatever its peer URL",
      given: withOtherUrl(cluster(), "my-etcd-1"),
      expect: "settled",
    },
  ],
  rulesIn("src/cluster/members").filter((name) => !["await-health", "replace-lost"].includes(name)),
);

import { QUARANTINE_FINALIZER, REMOVAL_ANNOTATION, RESTORED_FROM } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type Arrival, changedPeer, cluster, pod, withArrival, withoutMember } from "#kit/snapshots/cluster.ts";
import {
  stranger,
  withBoundLearner,
  withDyingClaims,
  withEachMember,
  withMember,
  withoutClaims,
  withStraggler,
  withUnboundClaim,
  withUnboundLearner,
} from "#kit/snapshots/cluster-changes.ts";
import {
  asking,
  learner,
  lost,
  m2,
  peerOf,
  restarting,
  STEPS,
  settled,
  withoutList,
} from "#kit/snapshots/cluster-steps.ts";
import { type GuardCase, promised } from "#kit/tables/guard-promises.ts";
import type { Pod } from "#kube/kinds.ts";
import * as guards from "./claim-guards.ts";

function arrivingPeer(stage: Arrival): EtcdPeer {
  return peerOf(withArrival(settled, learner.name, stage), learner.name);
}

function intent(name: string): EtcdPeer {
  return peerOf(withArrival(settled, name, "intended"), name);
}

function marked(removal: string): EtcdPeer {
  return peerOf(changedPeer(settled, "my-etcd-2", { annotations: { [REMOVAL_ANNOTATION]: removal } }), "my-etcd-2");
}

function leavingOf(given: ClusterSnapshot, name: string): ClusterStep {
  return { do: "markRemoval", peer: peerOf(given, name), removal: "scale-down" };
}

function markedToGo(given: ClusterSnapshot, removal = "scale-down"): ClusterSnapshot {
  return changedPeer(given, "my-etcd-2", { annotations: { [REMOVAL_ANNOTATION]: removal } });
}

/** The member's etcd has found an empty volume. */
function refusingItsVolume(given: ClusterSnapshot, name: string): ClusterSnapshot {
  const terminated = { exitCode: 1, message: "member 1 has already been bootstrapped" };
  const containerStatuses = [{ name: "etcd", state: { waiting: {} }, lastState: { terminated } }];
  const ended = pod(name, { ready: false });
  const its = { ...ended, status: { ...ended.status, containerStatuses } } as unknown as Pod;
  return { ...given, pods: new Map(given.pods).set(name, its) };
}

type ClaimChange = NonNullable<Parameters<typeof withBoundLearner>[1]>;

/** A learner that runs on a claim with a volume. */
function learning(change?: ClaimChange): ClusterSnapshot {
  return withBoundLearner(withArrival(settled, "my-etcd-3", "started"), change);
}

/** Claims with a data source. */
const FILLED: Readonly<Record<string, ClaimChange>> = {
  "an EtcdRestore has filled": (its) => ({ ...its, metadata: { ...its.metadata, labels: { [RESTORED_FROM]: "uid" } } }),
  "was made of a snapshot": (its) => ({
    ...its,
    spec: { ...its.spec, dataSource: { kind: "VolumeSnapshot", name: "s" } },
  }),
  "was made of something else": (its) => ({
    ...its,
    spec: { ...its.spec, dataSourceRef: { kind: "VolumeSnapshot", name: "s" } },
  }),
};

const five = cluster({ replicas: 5 });
const unstarted = cluster({ replicas: 1, stage: "starting" });

promised(guards, {
  "not-a-member": [
    {
      name: "allows deleting an intent even when etcd has added its member",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "allowed",
    },
    {
      name: "forbids releasing the claim of an intent",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: intent("my-etcd-3") },
      is: "forbidden",
    },
    {
      name: "allows deleting a member that was added again with another ID",
      given: withoutMember(settled, "my-etcd-2"),
      step: { do: "deletePeer", peer: { ...settled.peers[2]!, spec: { ...settled.peers[2]!.spec, memberID: "abc" } } },
      is: "allowed",
    },
    {
      name: "keeps a member that is listed under another URL",
      given: withMember(
        withoutMember(settled, "my-etcd-2"),
        stranger({ id: m2!.id, peerUrls: ["http://elsewhere:2380"] }),
      ),
      step: STEPS.releaseClaim,
      is: "forbidden",
    },
    { name: "keeps a listed member", given: settled, step: STEPS.deletePeer, is: "forbidden" },
    {
      name: "allows deleting an unlisted member",
      given: withoutMember(settled, "my-etcd-2"),
      step: STEPS.releaseClaim,
      is: "allowed",
    },
    {
      name: "keeps all without a member list",
      given: withoutList(settled),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "forbidden",
    },
  ],
  "asked-to-delete": [
    {
      name: "keeps the claim of a lost member",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement") },
      is: "forbidden",
    },
    {
      name: "deletes the claim after a scale-down",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("scale-down") },
      is: "allowed",
    },
    {
      name: "deletes a claim on which no etcd ran",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("never-started") },
      is: "allowed",
    },
    {
      name: "quarantines the claim of a lost member without a request",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement"), finalizer: QUARANTINE_FINALIZER },
      is: "allowed",
    },
    {
      name: "marks no surplus member when there is none",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "marks a surplus member",
      given: asking(settled, { replicas: 2 }),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "does not count a voter that was added by hand as surplus",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"] })),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "marks a surplus learner",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "does not mark a wanted learner",
      given: asking(withArrival(settled, "my-etcd-3", "started"), { replicas: 4 }),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "does not mark a member with data as never started",
      given: lost,
      step: { ...STEPS.markRemoval, removal: "never-started" },
      is: "forbidden",
    },
    {
      name: "marks a member without a volume as never started",
      given: withUnboundLearner(withArrival(settled, "my-etcd-3", "added")),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "never-started" },
      is: "allowed",
    },
    {
      name: "does not mark an unlisted member for a reason that deletes its claim",
      given: asking(settled, { replicas: 1 }),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "a learner with a bound claim never had a vote",
      given: learning(),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "never-voted" },
      is: "allowed",
    },
    {
      name: "assumes that a voter had a vote",
      given: lost,
      step: { ...STEPS.markRemoval, removal: "never-voted" },
      is: "forbidden",
    },
    {
      name: "assumes a vote for a member with an unknown claim",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "never-voted" },
      is: "forbidden",
    },
    ...Object.entries(FILLED).map(
      ([name, change]): GuardCase => ({
        name: `a claim that ${name} is kept`,
        given: learning(change),
        step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "never-voted" },
        is: "forbidden",
      }),
    ),
    {
      name: "removes a learner that never had a vote",
      given: changedPeer(learning(), "my-etcd-3", { annotations: { [REMOVAL_ANNOTATION]: "never-voted" } }),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
    {
      name: "does not remove a learner after its promotion: its claim would be deleted",
      given: changedPeer(
        withEachMember(learning(), () => ({ isLearner: false })),
        "my-etcd-3",
        { annotations: { [REMOVAL_ANNOTATION]: "never-voted" } },
      ),
      step: { do: "removeMember", ...learner },
      is: "forbidden",
    },
    {
      name: "releases the claim of a learner that never had a vote",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("never-voted") },
      is: "allowed",
    },
    { name: "marks a lost member, which keeps its claim", given: settled, step: STEPS.markRemoval, is: "allowed" },
  ],
  "dying-claim-is-held": [
    {
      name: "the only member of a cluster keeps the pod that holds its data",
      given: withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
      step: restarting(cluster({ replicas: 1 }), "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "one of two members may not stop: no quorum would have the data",
      given: withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "the other one of two members may stop, and returns with its data",
      given: withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "one of three is replaced by the others",
      given: withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "one of three may not stop while a second one is down",
      given: withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-2"),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "no restart while scaling down if the rest would have only deleted claims",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), { replicas: 2 }),
      step: restarting(settled, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a restart while scaling down if enough other claims stay",
      given: asking(withDyingClaims(settled, "my-etcd-1"), { replicas: 2 }),
      step: restarting(settled, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a restart of a member with a claim that stays",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-2"), { replicas: 2 }),
      step: restarting(settled, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a learner has no vote, and its data is a copy",
      given: withDyingClaims(withUnboundLearner(withArrival(settled, learner.name, "added")), learner.name),
      step: { ...STEPS.restartPod, name: learner.name },
      is: "allowed",
    },
    {
      name: "a member without a volume has nothing to lose",
      given: withDyingClaims(withUnboundClaim(unstarted, "my-etcd-0"), "my-etcd-0"),
      step: restarting(unstarted, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "an initial member may have run without a record",
      given: withDyingClaims(unstarted, "my-etcd-0"),
      step: restarting(unstarted, "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "an initial member without data has nothing to lose",
      given: withDyingClaims(refusingItsVolume(unstarted, "my-etcd-0"), "my-etcd-0"),
      step: restarting(unstarted, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "a joining member has no data that the others lack",
      given: withDyingClaims(withStraggler(cluster({ down: ["my-etcd-1"] }), { started: false }), "my-etcd-2"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no sleep without a quorum that could wake up",
      given: withDyingClaims(settled, "my-etcd-0", "my-etcd-1"),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "sleep without one claim of three, even when no member answers",
      given: withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-2"),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    { name: "claims without a deletion timestamp stay", given: settled, step: STEPS.fallAsleep, is: "allowed" },
    {
      name: "no removal while the remaining member has a deleted claim",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), { replicas: 1 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "no removal of a member that was chosen before the deletion",
      given: asking(markedToGo(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2")), { replicas: 1 }),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "removal of a member that was lost before the deletion",
      given: asking(markedToGo(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), "lost"), {
        replicas: 1,
      }),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "removal of the chosen member when the other claims stay",
      given: asking(markedToGo(withDyingClaims(settled, "my-etcd-1", "my-etcd-2")), { replicas: 1 }),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "removal of a lost member, to be replaced",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), { replicas: 1 }),
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "removal of a member with a deleted claim when another claim stays",
      given: asking(withDyingClaims(settled, "my-etcd-1", "my-etcd-2"), { replicas: 1 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no removal of the member with the only remaining claim",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1"), { replicas: 1 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of three members each can be replaced",
      given: asking(withDyingClaims(five, "my-etcd-0", "my-etcd-1", "my-etcd-2", "my-etcd-3", "my-etcd-4"), {
        replicas: 3,
      }),
      step: leavingOf(five, "my-etcd-4"),
      is: "allowed",
    },
    {
      name: "of two members none can be replaced: both keep their claims",
      given: asking(withDyingClaims(settled, "my-etcd-1", "my-etcd-2"), { replicas: 2 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "both members keep their claims when the one with the deleted claim is removed",
      given: asking(withDyingClaims(settled, "my-etcd-2"), { replicas: 2 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member without a claim has nothing that the others need",
      given: asking(withDyingClaims(withoutClaims(lost, "my-etcd-1"), "my-etcd-0", "my-etcd-2"), { replicas: 1 }),
      step: leavingOf(lost, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a member keeps its data while its pod runs",
      given: withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
      step: STEPS.wakeUp,
      is: "allowed",
    },
  ],
});

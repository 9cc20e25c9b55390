import { QUARANTINE_FINALIZER, REMOVAL_ANNOTATION, RESTORED_FROM } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { begin } from "#kit/snapshots/begin.ts";
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
  return begin(settled).apply(withArrival, "my-etcd-3", "started").apply(withBoundLearner, change).snapshot;
}

/** Claims with a data source. */
const FILLED: Readonly<Record<string, ClaimChange>> = {
  "was filled by an EtcdRestore": (its) => ({
    ...its,
    metadata: { ...its.metadata, labels: { [RESTORED_FROM]: "uid" } },
  }),
  "has a dataSource": (its) => ({
    ...its,
    spec: { ...its.spec, dataSource: { kind: "VolumeSnapshot", name: "s" } },
  }),
  "has a dataSourceRef": (its) => ({
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
      name: "allows deleting the EtcdPeer of a member ID that etcd does not list",
      given: withoutMember(settled, "my-etcd-2"),
      step: { do: "deletePeer", peer: { ...settled.peers[2]!, spec: { ...settled.peers[2]!.spec, memberID: "abc" } } },
      is: "allowed",
    },
    {
      name: "keeps the claim of a member that etcd lists with another URL",
      given: begin(settled)
        .apply(withoutMember, "my-etcd-2")
        .apply(withMember, stranger({ id: m2!.id, peerUrls: ["http://elsewhere:2380"] })).snapshot,
      step: STEPS.releaseClaim,
      is: "forbidden",
    },
    { name: "keeps the EtcdPeer of a member that etcd lists", given: settled, step: STEPS.deletePeer, is: "forbidden" },
    {
      name: "allows releasing the claim of a member that etcd does not list",
      given: withoutMember(settled, "my-etcd-2"),
      step: STEPS.releaseClaim,
      is: "allowed",
    },
    {
      name: "forbids deleting an EtcdPeer without a member list",
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
      name: "deletes the claim of a member that was removed by scaling down",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("scale-down") },
      is: "allowed",
    },
    {
      name: "deletes the claim of a member that never started",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("never-started") },
      is: "allowed",
    },
    {
      name: "allows quarantining the claim of a lost member",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement"), finalizer: QUARANTINE_FINALIZER },
      is: "allowed",
    },
    {
      name: "does not mark a voter for scale-down when there are as many voters as spec.replicas",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "marks a surplus voter for scale-down",
      given: asking(settled, { replicas: 2 }),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "does not mark a voter for scale-down because another voter was added by hand",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"] })),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "marks a surplus learner for scale-down",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "does not mark a learner for scale-down when spec.replicas asks for it",
      given: begin(settled).apply(withArrival, "my-etcd-3", "started").apply(asking, { replicas: 4 }).snapshot,
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
      given: begin(settled).apply(withArrival, "my-etcd-3", "added").apply(withUnboundLearner).snapshot,
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "never-started" },
      is: "allowed",
    },
    {
      name: "does not mark a member that etcd does not list for scale-down",
      given: asking(settled, { replicas: 1 }),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "marks a learner with a bound claim as never voted",
      given: learning(),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "never-voted" },
      is: "allowed",
    },
    {
      name: "does not mark a voter as never voted",
      given: lost,
      step: { ...STEPS.markRemoval, removal: "never-voted" },
      is: "forbidden",
    },
    {
      name: "does not mark a learner as never voted when the cache does not have its claim",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "never-voted" },
      is: "forbidden",
    },
    ...Object.entries(FILLED).map(
      ([name, change]): GuardCase => ({
        name: `does not mark a learner as never voted when its claim ${name}`,
        given: learning(change),
        step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "never-voted" },
        is: "forbidden",
      }),
    ),
    {
      name: "allows removing a learner that is marked as never voted",
      given: changedPeer(learning(), "my-etcd-3", { annotations: { [REMOVAL_ANNOTATION]: "never-voted" } }),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
    {
      name: "does not remove a promoted learner that is marked as never voted: its claim would be deleted",
      given: begin(learning())
        .apply(withEachMember, () => ({ isLearner: false }))
        .apply(changedPeer, "my-etcd-3", { annotations: { [REMOVAL_ANNOTATION]: "never-voted" } }).snapshot,
      step: { do: "removeMember", ...learner },
      is: "forbidden",
    },
    {
      name: "deletes the claim of a learner that is marked as never voted",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("never-voted") },
      is: "allowed",
    },
    {
      name: "marks a lost member for replacement, which keeps its claim",
      given: settled,
      step: STEPS.markRemoval,
      is: "allowed",
    },
  ],
  "dying-claim-is-held": [
    {
      name: "the only member may not restart while its claim is terminating",
      given: withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
      step: restarting(cluster({ replicas: 1 }), "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "one of two members with a terminating claim may not restart: no quorum would have the data",
      given: withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "one of two members may restart while only the other member's claim is terminating",
      given: withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "one of three healthy members may restart although all claims are terminating: it is replaced",
      given: withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "one of three members with a terminating claim may not restart while a second member is down",
      given: withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-2"),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "while scaling down to two, no member restarts when all claims are terminating",
      given: begin(settled).apply(withDyingClaims, "my-etcd-0", "my-etcd-1", "my-etcd-2").apply(asking, { replicas: 2 })
        .snapshot,
      step: restarting(settled, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "while scaling down to two, the only member with a terminating claim may restart",
      given: begin(settled).apply(withDyingClaims, "my-etcd-1").apply(asking, { replicas: 2 }).snapshot,
      step: restarting(settled, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "while scaling down to two, a member may restart when only the other claims are terminating",
      given: begin(settled).apply(withDyingClaims, "my-etcd-0", "my-etcd-2").apply(asking, { replicas: 2 }).snapshot,
      step: restarting(settled, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a learner with a terminating claim may restart",
      given: begin(settled)
        .apply(withArrival, learner.name, "added")
        .apply(withUnboundLearner)
        .apply(withDyingClaims, learner.name).snapshot,
      step: { ...STEPS.restartPod, name: learner.name },
      is: "allowed",
    },
    {
      name: "a started member with a terminating claim may not restart, although the cache shows no volume of the claim",
      given: begin(cluster({ down: ["my-etcd-1"] }))
        .apply(withUnboundClaim, "my-etcd-0")
        .apply(withDyingClaims, "my-etcd-0").snapshot,
      step: restarting(settled, "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "an initial member with a terminating claim may restart when the claim has no volume",
      given: begin(unstarted).apply(withUnboundClaim, "my-etcd-0").apply(withDyingClaims, "my-etcd-0").snapshot,
      step: restarting(unstarted, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "an initial member with a terminating claim may not restart: it may have run before it was recorded",
      given: withDyingClaims(unstarted, "my-etcd-0"),
      step: restarting(unstarted, "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "an initial member with a terminating claim may restart when etcd found its volume empty",
      given: begin(unstarted).apply(refusingItsVolume, "my-etcd-0").apply(withDyingClaims, "my-etcd-0").snapshot,
      step: restarting(unstarted, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "a voter that etcd does not list as started may not restart with a terminating claim: it may have served clients",
      given: begin(cluster({ down: ["my-etcd-1"] }))
        .apply(withStraggler, { started: false })
        .apply(withDyingClaims, "my-etcd-2").snapshot,
      step: restarting(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a cluster may not sleep when two of three claims are terminating",
      given: withDyingClaims(settled, "my-etcd-0", "my-etcd-1"),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "a cluster may sleep when one of three claims is terminating, even when it has no quorum",
      given: withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-2"),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    { name: "a cluster may sleep when no claim is terminating", given: settled, step: STEPS.fallAsleep, is: "allowed" },
    {
      name: "no scale-down to one is recorded when all claims are terminating",
      given: begin(settled).apply(withDyingClaims, "my-etcd-0", "my-etcd-1", "my-etcd-2").apply(asking, { replicas: 1 })
        .snapshot,
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "the member that a scale-down to one has chosen is not removed when all claims are terminating",
      given: begin(settled)
        .apply(withDyingClaims, "my-etcd-0", "my-etcd-1", "my-etcd-2")
        .apply(markedToGo)
        .apply(asking, { replicas: 1 }).snapshot,
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "a member may be removed for another reason than scale-down although all claims are terminating",
      given: begin(settled)
        .apply(withDyingClaims, "my-etcd-0", "my-etcd-1", "my-etcd-2")
        .apply(markedToGo, "lost")
        .apply(asking, {
          replicas: 1,
        }).snapshot,
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "the member that a scale-down to one has chosen may be removed when another claim stays",
      given: begin(settled)
        .apply(withDyingClaims, "my-etcd-1", "my-etcd-2")
        .apply(markedToGo)
        .apply(asking, { replicas: 1 }).snapshot,
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "the replacement of a lost member may be recorded although all claims are terminating",
      given: begin(settled).apply(withDyingClaims, "my-etcd-0", "my-etcd-1", "my-etcd-2").apply(asking, { replicas: 1 })
        .snapshot,
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "a scale-down to one may remove a member with a terminating claim when another claim stays",
      given: begin(settled).apply(withDyingClaims, "my-etcd-1", "my-etcd-2").apply(asking, { replicas: 1 }).snapshot,
      step: leavingOf(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a scale-down to one may not remove the only member with a claim that stays",
      given: begin(settled).apply(withDyingClaims, "my-etcd-0", "my-etcd-1").apply(asking, { replicas: 1 }).snapshot,
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a scale-down to three may remove a member although all claims are terminating",
      given: begin(five)
        .apply(withDyingClaims, "my-etcd-0", "my-etcd-1", "my-etcd-2", "my-etcd-3", "my-etcd-4")
        .apply(asking, {
          replicas: 3,
        }).snapshot,
      step: leavingOf(five, "my-etcd-4"),
      is: "allowed",
    },
    {
      name: "a scale-down to two may not remove a member when only one other claim stays",
      given: begin(settled).apply(withDyingClaims, "my-etcd-1", "my-etcd-2").apply(asking, { replicas: 2 }).snapshot,
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a scale-down to two may remove the only member with a terminating claim",
      given: begin(settled).apply(withDyingClaims, "my-etcd-2").apply(asking, { replicas: 2 }).snapshot,
      step: leavingOf(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a scale-down to one may remove a member without a claim although the other claims are terminating",
      given: begin(lost)
        .apply(withoutClaims, "my-etcd-1")
        .apply(withDyingClaims, "my-etcd-0", "my-etcd-2")
        .apply(asking, { replicas: 1 }).snapshot,
      step: leavingOf(lost, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "the guard does not apply to a wake-up",
      given: withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
      step: STEPS.wakeUp,
      is: "allowed",
    },
  ],
});

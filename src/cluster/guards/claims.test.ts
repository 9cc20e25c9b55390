import { QUARANTINE_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import * as guards from "#cluster/guards/claims.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type Arrival, changedPeer, cluster, pod, withArrival, withoutMember } from "#kit/cluster.ts";
import {
  stranger,
  withDyingClaims,
  withMember,
  withoutClaims,
  withStraggler,
  withUnboundClaim,
  withUnboundLearner,
} from "#kit/cluster-changes.ts";
import { asking, learner, lost, m2, peerOf, restarting, STEPS, settled, withoutList } from "#kit/cluster-steps.ts";
import { promised } from "#kit/guard-promises.ts";
import type { Pod } from "#kube/kinds.ts";

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

/** Its etcd has found an empty volume. */
function refusingItsVolume(given: ClusterSnapshot, name: string): ClusterSnapshot {
  const terminated = { exitCode: 1, message: "member 1 has already been bootstrapped" };
  const containerStatuses = [{ name: "etcd", state: { waiting: {} }, lastState: { terminated } }];
  const ended = pod(name, { ready: false });
  const its = { ...ended, status: { ...ended.status, containerStatuses } } as unknown as Pod;
  return { ...given, pods: new Map(given.pods).set(name, its) };
}

const five = cluster({ replicas: 5 });
const unstarted = cluster({ replicas: 1, stage: "starting" });

promised(guards, {
  "not-a-member": [
    {
      name: "an intent goes also when etcd has added its member meanwhile, which gets an EtcdPeer again",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "allowed",
    },
    {
      name: "an intent has no claim to let go of",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: intent("my-etcd-3") },
      is: "forbidden",
    },
    {
      name: "a member that was added again under its old URL is another one",
      given: withoutMember(settled, "my-etcd-2"),
      step: { do: "deletePeer", peer: { ...settled.peers[2]!, spec: { ...settled.peers[2]!.spec, memberID: "abc" } } },
      is: "allowed",
    },
    {
      name: "whom etcd lists under another URL stays",
      given: withMember(
        withoutMember(settled, "my-etcd-2"),
        stranger({ id: m2!.id, peerUrls: ["http://elsewhere:2380"] }),
      ),
      step: STEPS.releaseClaim,
      is: "forbidden",
    },
    { name: "who is a member stays", given: settled, step: STEPS.deletePeer, is: "forbidden" },
    {
      name: "who has left may go",
      given: withoutMember(settled, "my-etcd-2"),
      step: STEPS.releaseClaim,
      is: "allowed",
    },
    {
      name: "without a member list nobody goes",
      given: withoutList(settled),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "forbidden",
    },
  ],
  "asked-to-delete": [
    {
      name: "the claim of who was lost is kept",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement") },
      is: "forbidden",
    },
    {
      name: "fewer members were asked for: the claim goes",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("scale-down") },
      is: "allowed",
    },
    {
      name: "no etcd ever ran on it: the claim goes",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("never-started") },
      is: "allowed",
    },
    {
      name: "to put the claim of who was lost aside nobody has to ask",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement"), finalizer: QUARANTINE_FINALIZER },
      is: "allowed",
    },
    {
      name: "nobody is marked as one too many while there are no more than are wanted",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "one too many is marked",
      given: asking(settled, { replicas: 2 }),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a voter that a person added does not make one of ours too many",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"] })),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "a learner that is not wanted any more is marked as one too many",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a learner that is wanted is not marked as one too many",
      given: asking(withArrival(settled, "my-etcd-3", "started"), { replicas: 4 }),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "who may hold data is not marked as never started",
      given: lost,
      step: { ...STEPS.markRemoval, removal: "never-started" },
      is: "forbidden",
    },
    {
      name: "whose claim never got a volume is marked as never started",
      given: withUnboundLearner(withArrival(settled, "my-etcd-3", "added")),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "never-started" },
      is: "allowed",
    },
    {
      name: "who is no member is not marked for a reason that costs the claim",
      given: asking(settled, { replicas: 1 }),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "scale-down" },
      is: "forbidden",
    },
    { name: "who is lost is marked, and keeps the claim", given: settled, step: STEPS.markRemoval, is: "allowed" },
  ],
  "dying-claim-is-held": [
    {
      name: "the only member of a cluster keeps the pod that holds its data",
      given: withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
      step: restarting(cluster({ replicas: 1 }), "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "one of two would leave no quorum that has the data",
      given: withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "the other one of two comes back with its data",
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
      name: "one of three of whom another one is down is not, though it does nothing either",
      given: withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-2"),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "nobody restarts where fewer are wanted and the ones who stay would be left with claims that go",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), { replicas: 2 }),
      step: restarting(settled, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "who restarts where fewer are wanted may lose its claim when the others are enough, and keep theirs",
      given: asking(withDyingClaims(settled, "my-etcd-1"), { replicas: 2 }),
      step: restarting(settled, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "who restarts keeps its claim where fewer are wanted, whatever becomes of others'",
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
      name: "who has no volume yet has nothing to lose",
      given: withDyingClaims(withUnboundClaim(unstarted, "my-etcd-0"), "my-etcd-0"),
      step: restarting(unstarted, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "a first member may have run while nobody looked",
      given: withDyingClaims(unstarted, "my-etcd-0"),
      step: restarting(unstarted, "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "a first member of which nothing is left has nothing to lose",
      given: withDyingClaims(refusingItsVolume(unstarted, "my-etcd-0"), "my-etcd-0"),
      step: restarting(unstarted, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "who is to join a cluster that has formed has nothing that the others lack",
      given: withDyingClaims(withStraggler(cluster({ down: ["my-etcd-1"] }), { started: false }), "my-etcd-2"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody sleeps who could not wake up again with a quorum",
      given: withDyingClaims(settled, "my-etcd-0", "my-etcd-1"),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "who sleeps can miss one of three, of whom nobody has to answer",
      given: withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-2"),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    { name: "claims that nobody has deleted stay", given: settled, step: STEPS.fallAsleep, is: "allowed" },
    {
      name: "nobody goes where the one who stays would be left with a claim that goes",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), { replicas: 1 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "nor does who was chosen before the claims were deleted",
      given: asking(markedToGo(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2")), { replicas: 1 }),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "who was given up before the claims were deleted goes",
      given: asking(markedToGo(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), "lost"), {
        replicas: 1,
      }),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "who was chosen goes where the claims of the others stay",
      given: asking(markedToGo(withDyingClaims(settled, "my-etcd-1", "my-etcd-2")), { replicas: 1 }),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "who is lost goes all the same, to be replaced",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1", "my-etcd-2"), { replicas: 1 }),
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "whose claim goes may go, where the one who stays has a claim that stays",
      given: asking(withDyingClaims(settled, "my-etcd-1", "my-etcd-2"), { replicas: 1 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "the only claim that stays does not go",
      given: asking(withDyingClaims(settled, "my-etcd-0", "my-etcd-1"), { replicas: 1 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of three each can be replaced, whatever becomes of its claim",
      given: asking(withDyingClaims(five, "my-etcd-0", "my-etcd-1", "my-etcd-2", "my-etcd-3", "my-etcd-4"), {
        replicas: 3,
      }),
      step: leavingOf(five, "my-etcd-4"),
      is: "allowed",
    },
    {
      name: "of two none can be: both are to keep their claims",
      given: asking(withDyingClaims(settled, "my-etcd-1", "my-etcd-2"), { replicas: 2 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "both keep theirs when the one whose claim goes is the one who goes",
      given: asking(withDyingClaims(settled, "my-etcd-2"), { replicas: 2 }),
      step: leavingOf(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "who has lost its claim has nothing that the others could miss",
      given: asking(withDyingClaims(withoutClaims(lost, "my-etcd-1"), "my-etcd-0", "my-etcd-2"), { replicas: 1 }),
      step: leavingOf(lost, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "whose pod is not stopped keeps its data",
      given: withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
      step: STEPS.wakeUp,
      is: "allowed",
    },
  ],
});

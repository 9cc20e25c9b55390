import { fencedPeer, intendedPeer, joiningPeer } from "#cluster/desired/peer.ts";
import * as guards from "#cluster/guards/turns.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, LATER_ID, withArrival, withoutMember, withRemoval } from "#kit/cluster.ts";
import { stranger, withMember } from "#kit/cluster-changes.ts";
import { madeFrom, NEWER, OLD, ON_DELETE, wanting, withCrashing, withTurn } from "#kit/cluster-rolling.ts";
import { giving, identity, peerOf, restarting, STEPS, settled } from "#kit/cluster-steps.ts";
import { promised } from "#kit/guard-promises.ts";

function fiveDown(down: readonly string[]): ClusterSnapshot {
  return cluster({ replicas: 5, down });
}

const five1Down = fiveDown(["my-etcd-1"]);

const five1DownTurned = withTurn(five1Down, "my-etcd-2", NEWER);

const turned = withTurn(wanting(NEWER), "my-etcd-1");

const asked = withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-1");

promised(guards, {
  "one-at-a-time": [
    {
      name: "nobody is to join while another one is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: intendedPeer(settled, identity, "my-etcd-4") },
      is: "forbidden",
    },
    {
      name: "who is joining may get its peer back",
      given: withArrival(settled, "my-etcd-3", "added", { peer: false }),
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "a member may get its peer back while another one is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: fencedPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "who was intended is added",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "nobody goes while somebody is about to join",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "nobody is marked to go while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "a removal may be taken back while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "what a person adds under another URL holds nobody back",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"], isLearner: true })),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "who has left is not leaving any more",
      given: withoutMember(withRemoval(settled, "my-etcd-2", "replacement"), "my-etcd-2"),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "nobody is added while somebody is leaving",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.addLearner,
      is: "forbidden",
    },
    {
      name: "who is leaving is removed",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    { name: "one member restarts", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "nobody restarts while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "who is joining may restart",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: restarting(withArrival(settled, "my-etcd-3", "started"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "nobody restarts while another one is down",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is down may restart",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a pod in which nothing runs is made anew at any time",
      given: withCrashing(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "not while it answers: a kubelet may tell late",
      given: withCrashing(five1Down, "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    { name: "one member gets its turn", given: settled, step: giving(settled, "my-etcd-2"), is: "allowed" },
    {
      name: "nobody gets a turn while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is leaving may get a turn",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: giving(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody gets a turn while another one is down",
      given: five1Down,
      step: giving(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "nobody gets a turn while another one has it",
      given: turned,
      step: giving(turned, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a turn with what is wanted no more is in nobody's way",
      given: withTurn(wanting({ ...OLD, version: "3.6.18" }), "my-etcd-1", NEWER),
      step: giving(withTurn(wanting({ ...OLD, version: "3.6.18" }), "my-etcd-1", NEWER), "my-etcd-2", "3.6.18"),
      is: "allowed",
    },
    {
      name: "a turn that waits for a person is in nobody's way",
      given: asked,
      step: giving(asked, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "who has its turn may get another wish",
      given: five1DownTurned,
      step: giving(five1DownTurned, "my-etcd-2", "3.6.18"),
      is: "allowed",
    },
    {
      name: "what changes nothing of what it runs is no turn",
      given: turned,
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "nor while its pod does not say what it was made from",
      given: madeFrom(turned, "my-etcd-2", undefined),
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "who takes no part loses nothing",
      given: fiveDown(["my-etcd-1", "my-etcd-2"]),
      step: giving(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner has no turn",
      given: withArrival(five1Down, "my-etcd-5", "started"),
      step: giving(withArrival(five1Down, "my-etcd-5", "started"), "my-etcd-5"),
      is: "allowed",
    },
    {
      name: "nor has who is no member",
      given: withoutMember(five1Down, "my-etcd-2"),
      step: giving(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "an EtcdPeer of which nothing is said is for others to judge",
      given: turned,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
});

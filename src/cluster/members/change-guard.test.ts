import { fencedPeer, intendedPeer, joiningPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, LATER_ID, withArrival, withoutMember, withRemoval } from "#kit/snapshots/cluster.ts";
import { stranger, withMember } from "#kit/snapshots/cluster-changes.ts";
import { madeFrom, NEWER, OLD, ON_DELETE, wanting, withCrashing, withTurn } from "#kit/snapshots/cluster-rolling.ts";
import { giving, identity, peerOf, restarting, STEPS, settled } from "#kit/snapshots/cluster-steps.ts";
import { promised } from "#kit/tables/guard-promises.ts";
import * as guards from "./change-guard.ts";

function fiveDown(down: readonly string[]): ClusterSnapshot {
  return cluster({ replicas: 5, down });
}

const five1Down = fiveDown(["my-etcd-1"]);

const five1DownTurned = withTurn(five1Down, "my-etcd-2", NEWER);

const intended = withArrival(settled, "my-etcd-3", "intended");

const turned = withTurn(wanting(NEWER), "my-etcd-1");

const asked = withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-1");

promised(guards, {
  "one-at-a-time": [
    {
      name: "no intent is created while another member is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: intendedPeer(settled, identity, "my-etcd-4") },
      is: "forbidden",
    },
    {
      name: "the EtcdPeer of a joining member may be recreated",
      given: withArrival(settled, "my-etcd-3", "added", { peer: false }),
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "the EtcdPeer of a member may be recreated while another member is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: fencedPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "the member of an intent may be added",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "the EtcdPeer of an intent may change while another member is leaving",
      given: withRemoval(intended, "my-etcd-2", "replacement"),
      step: giving(intended, "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "no member is removed while an intent exists",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "no removal of a voter is recorded while a member is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "a removal may be cancelled while a member is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "a learner that was added by hand does not block adding a member",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"], isLearner: true })),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "a member that etcd no longer lists does not block adding a member",
      given: begin(settled).apply(withRemoval, "my-etcd-2", "replacement").apply(withoutMember, "my-etcd-2").snapshot,
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "no member is added while another member's removal is recorded",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.addLearner,
      is: "forbidden",
    },
    {
      name: "a member with a recorded removal may be removed",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    { name: "a member may restart in a healthy cluster", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "no voter restarts while a member is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "a joining member may restart",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: restarting(withArrival(settled, "my-etcd-3", "started"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "no member restarts while another member is down",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member that is down may restart",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a crashing pod of a silent member may be recreated while another member is down",
      given: withCrashing(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a crashing pod is not recreated while its member answers: the kubelet may report late",
      given: withCrashing(five1Down, "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member may be updated in a healthy cluster",
      given: settled,
      step: giving(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no voter is updated while a member is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member with a recorded removal may be updated",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: giving(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no member is updated while another member is down",
      given: five1Down,
      step: giving(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "no member is updated while another member has a pending restart",
      given: turned,
      step: giving(turned, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a pending restart with an outdated template does not block an update",
      given: withTurn(wanting({ ...OLD, version: "3.6.18" }), "my-etcd-1", NEWER),
      step: giving(withTurn(wanting({ ...OLD, version: "3.6.18" }), "my-etcd-1", NEWER), "my-etcd-2", "3.6.18"),
      is: "allowed",
    },
    {
      name: "a pending restart with strategy OnDelete does not block an update",
      given: asked,
      step: giving(asked, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member with a pending restart may get a newer template while another member is down",
      given: five1DownTurned,
      step: giving(five1DownTurned, "my-etcd-2", "3.6.18"),
      is: "allowed",
    },
    {
      name: "an EtcdPeer may be replaced without a new template while a restart is pending",
      given: turned,
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "an EtcdPeer may be replaced without a new template while its pod's revision is unknown",
      given: madeFrom(turned, "my-etcd-2", undefined),
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "a member that is down may be updated while another member is down",
      given: fiveDown(["my-etcd-1", "my-etcd-2"]),
      step: giving(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "the guard does not apply to the update of a learner",
      given: withArrival(five1Down, "my-etcd-5", "started"),
      step: giving(withArrival(five1Down, "my-etcd-5", "started"), "my-etcd-5"),
      is: "allowed",
    },
    {
      name: "the guard does not apply to the update of a member that etcd does not list",
      given: withoutMember(five1Down, "my-etcd-2"),
      step: giving(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "the guard does not apply to an EtcdPeer without a spec",
      given: turned,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
});

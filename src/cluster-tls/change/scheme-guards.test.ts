import { type MemberTemplate, templateIn } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { unknown } from "#base/observed.ts";
import { newPeer, revisedPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { stranger, withEachMember, withMember } from "#kit/snapshots/cluster-changes.ts";
import { NEWER, withCrashing } from "#kit/snapshots/cluster-rolling.ts";
import {
  asking,
  bornSpeaking,
  certified,
  identity,
  nobody,
  peerOf,
  STEPS,
  settled,
  speaking,
  tlsOfAll,
} from "#kit/snapshots/cluster-steps.ts";
import { listedBy, tlsSpec } from "#kit/snapshots/cluster-tls.ts";
import { HAS, switching, turnedTo, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import { promised } from "#kit/tables/guard-promises.ts";
import { withPeerScheme } from "./peer-scheme.ts";
import * as guards from "./scheme-guards.ts";

/** The step that gives the first member this template. */
function given0(snapshot: ClusterSnapshot, tls: EtcdPeer["spec"]["tls"]): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-0");
  const { tls: _, ...template } = templateIn(live.spec);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...template, ...(tls && { tls }) }, undefined) };
}

const lastBoth = switching({}, ["both", "both", "both"]);

const oneReached = switching({}, ["both", "both", "reached"]);

const backAgain = switching(WITHOUT, ["both", "both", "both"]);

const bootstrapping: ClusterSnapshot = {
  ...lastBoth,
  peers: lastBoth.peers.map((peer, n) =>
    n > 0
      ? peer
      : { ...peer, spec: { ...peer.spec, bootstrap: newPeer(settled, identity, "my-etcd-0").spec!.bootstrap! } },
  ),
};

/** Changes the peer URL of the last member in etcd's list. @param n the ordinal of the member ID */
function listing(scheme: "http" | "https", n = 2): ClusterStep {
  const id = memberIdFromHex(identity.initialMembers[n]!.id);
  return { do: "updateMember", name: "my-etcd-2", id, peerUrl: `${scheme}://my-etcd-2.my-etcd.foo.svc:2380` };
}

function restartingLast(snapshot: ClusterSnapshot): ClusterStep {
  return { do: "restartPod", name: "my-etcd-2", pod: snapshot.pods.get("my-etcd-2")! };
}

/** The last member does not answer. */
function silent(snapshot: ClusterSnapshot): ClusterSnapshot {
  const endpoints = new Map(snapshot.endpoints).set("my-etcd-2", unknown("connection refused"));
  return { ...snapshot, endpoints };
}

/** The step that gives the last member its previous template again. */
function givenBack(snapshot: ClusterSnapshot): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-2");
  return { do: "replacePeer", live, peer: revisedPeer(live, live.spec.previous!, undefined) };
}

/** The step that gives the last member its previous template with this change. */
function givenAfter(snapshot: ClusterSnapshot, change: (before: MemberTemplate) => MemberTemplate): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-2");
  return { do: "replacePeer", live, peer: revisedPeer(live, change(live.spec.previous!), undefined) };
}

const leapt = turnedTo(switching({}, ["both", "both", "nothing"]), "my-etcd-2", "reached");
const leaptPast = turnedTo(switching({}, ["both", "reached", "nothing"]), "my-etcd-2", "reached");
const lastLost = turnedTo(switching(WITHOUT, ["nothing", "nothing", "both"]), "my-etcd-2", "nothing");
const lastReached = turnedTo(switching(WITHOUT, ["nothing", "nothing", "reached"]), "my-etcd-2", "nothing");
const keptPair = turnedTo(switching({}, ["both", "both", "both"]), "my-etcd-2", "reached");

const withNone = switching({}, ["nothing", "nothing", "nothing"]);
const halfBack = switching(WITHOUT, ["both", "nothing", "both"]);

/** A cluster with https in its identity, and with TLS turned off in its spec. */
const turnedOff = asking(nobody, { tls: tlsSpec(WITHOUT) });
const knownByHttp = ((): ClusterSnapshot => {
  const { peerScheme: _, ...others } = turnedOff.cluster.status!.identity!;
  return { ...turnedOff, cluster: { ...turnedOff.cluster, status: { ...turnedOff.cluster.status, identity: others } } };
})();

/** The step that creates a first member with this template. */
function forming(tls: EtcdPeer["spec"]["tls"]): ClusterStep {
  const bootstrap = { ...newPeer(certified, identity, "my-etcd-0").spec!.bootstrap! };
  return bornSpeaking(
    { ...certified, peers: certified.peers.map((peer) => ({ ...peer, spec: { ...peer.spec, bootstrap } })) },
    tls,
  );
}

promised(guards, {
  "tls-stepwise": [
    {
      name: "a member gets no TLS that the spec does not request, even if it would serve http and https",
      given: settled,
      step: speaking(settled, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "a member may get TLS that is being turned off while other members still have it",
      given: halfBack,
      step: speaking(halfBack, HAS.both),
      is: "allowed",
    },
    {
      name: "a member without TLS may stay so",
      given: withNone,
      step: speaking(withNone, undefined),
      is: "allowed",
    },
    {
      name: "a rollback may remove the certificate of a member when all others listen with http",
      given: leapt,
      step: givenBack(leapt),
      is: "allowed",
    },
    {
      name: "a rollback may not remove the certificate of a member when another member listens with https",
      given: leaptPast,
      step: givenBack(leaptPast),
      is: "forbidden",
    },
    {
      name: "a rollback may not remove a certificate that the previous template has",
      given: keptPair,
      step: {
        ...(givenBack(keptPair) as { do: "replacePeer"; live: EtcdPeer }),
        peer: revisedPeer(peerOf(keptPair, "my-etcd-2"), templateIn(peerOf(withNone, "my-etcd-2").spec), undefined),
      },
      is: "forbidden",
    },
    {
      name: "a rollback may give the last member its TLS back although no other member has TLS",
      given: lastLost,
      step: givenBack(lastLost),
      is: "allowed",
    },
    {
      name: "the last member does not get its TLS back together with another change",
      given: lastLost,
      step: givenAfter(lastLost, (before) => ({ ...before, version: NEWER.version })),
      is: "forbidden",
    },
    {
      name: "a rollback may give the last member its TLS back with its current peer scheme",
      given: lastReached,
      step: givenAfter(lastReached, (before) => withPeerScheme(before, "http")),
      is: "allowed",
    },
    { name: "a member keeps TLS", given: certified, step: speaking(certified, tlsOfAll), is: "allowed" },
    {
      name: "a member does not lose TLS in one step",
      given: certified,
      step: speaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "a member does not lose TLS on the client side in one step",
      given: certified,
      step: speaking(certified, { peer: tlsOfAll.peer! }),
      is: "forbidden",
    },
    {
      name: "a member keeps its peer certificate while others have https URLs",
      given: switching(WITHOUT, ["both", "both", "reached"]),
      step: given0(switching(WITHOUT, ["both", "both", "reached"]), { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "a member keeps its peer certificate while etcd lists an https URL of another member",
      given: listedBy(switching(WITHOUT, ["both", "both", "both"]), "https", ["my-etcd-2"]),
      step: given0(switching(WITHOUT, ["both", "both", "both"]), { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "a member keeps its peer certificate while another pod has https",
      given: { ...backAgain, pods: switching(WITHOUT, ["both", "both", "reached"]).pods },
      step: given0(backAgain, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "a member keeps its peer certificate while another member is about to have https",
      given: turnedTo(backAgain, "my-etcd-2", "reached"),
      step: given0(backAgain, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "a member without a certificate may stay without one",
      given: switching(WITHOUT, ["nothing", "both", "reached"]),
      step: given0(switching(WITHOUT, ["nothing", "both", "reached"]), undefined),
      is: "allowed",
    },
    {
      name: "a peer certificate is removed once no member has an https URL",
      given: backAgain,
      step: given0(backAgain, { client: HAS.both.client }),
      is: "allowed",
    },
    {
      name: "a member gets no TLS that the spec does not request",
      given: settled,
      step: speaking(settled, tlsOfAll),
      is: "forbidden",
    },
    {
      name: "a member gets certificates before it changes its schemes",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), HAS.both),
      is: "allowed",
    },
    {
      name: "a member with new certificates does not change to https in the same step",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), HAS.reached),
      is: "forbidden",
    },
    {
      name: "a member with new certificates does not serve only https in the same step",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), { ...HAS.both, client: HAS.all.client }),
      is: "forbidden",
    },
    {
      name: "no peer URL is https before all members have certificates",
      given: switching({}, ["both", "both", "nothing"]),
      step: given0(switching({}, ["both", "both", "nothing"]), HAS.reached),
      is: "forbidden",
    },
    {
      name: "no peer URL is https before all pods have certificates",
      given: { ...lastBoth, pods: switching({}, ["both", "both", "nothing"]).pods },
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "a member without EtcdPeer counts as one without a certificate",
      given: withMember(lastBoth, stranger()),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "a peer URL becomes https once all members have certificates",
      given: lastBoth,
      step: given0(lastBoth, HAS.reached),
      is: "allowed",
    },
    {
      name: "only one peer URL changes at a time",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "a peer URL is changing until etcd lists it",
      given: listedBy(oneReached, "http", ["my-etcd-2"]),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "the next peer URL becomes https when etcd lists the first one",
      given: oneReached,
      step: given0(lastBoth, HAS.reached),
      is: "allowed",
    },
    {
      name: "no peer URL changes without a member list",
      given: { ...lastBoth, members: unknown("no answer") },
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "a rollback may change a peer URL without a member list",
      given: { ...turnedTo(lastBoth, "my-etcd-0", "reached"), members: unknown("no answer") },
      step: given0(turnedTo(lastBoth, "my-etcd-0", "reached"), HAS.both),
      is: "allowed",
    },
    {
      name: "the peer URL of a member that has not joined does not change",
      given: bootstrapping,
      step: given0(bootstrapping, HAS.reached),
      is: "forbidden",
    },
    {
      name: "a peer URL changes in etcd's list before the restart",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("https"),
      is: "allowed",
    },
    {
      name: "the peer URL of another member does not change",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("https", 1),
      is: "forbidden",
    },
    {
      name: "a peer URL may become http although some members cannot dial over TLS",
      given: turnedTo(switching(WITHOUT, ["nothing", "both", "reached"]), "my-etcd-2", "both"),
      step: listing("http"),
      is: "allowed",
    },
    {
      name: "a listed peer URL does not become https when its EtcdPeer has http",
      given: lastBoth,
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "a listed peer URL does not become http when its EtcdPeer has https",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("http"),
      is: "forbidden",
    },
    {
      name: "a listed peer URL does not change while another member is changing",
      given: begin(lastBoth).apply(listedBy, "https", ["my-etcd-1"]).apply(turnedTo, "my-etcd-2", "reached").snapshot,
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "a listed peer URL does not become https before all members can dial it",
      given: turnedTo(switching({}, ["nothing", "both", "both"]), "my-etcd-2", "reached"),
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "a learner's peer URL does not change, since older releases would list it as a voter",
      given: begin(lastBoth)
        .apply(turnedTo, "my-etcd-2", "reached")
        .apply(withEachMember, (member) => ({ ...member, isLearner: true })).snapshot,
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "a member does not restart before its listed peer URL has changed",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: restartingLast(lastBoth),
      is: "forbidden",
    },
    {
      name: "a member without containers may restart before its listed peer URL has changed",
      given: begin(lastBoth).apply(turnedTo, "my-etcd-2", "reached").apply(silent).apply(withCrashing, "my-etcd-2")
        .snapshot,
      step: restartingLast(lastBoth),
      is: "allowed",
    },
    {
      name: "a member restarts after its listed peer URL has changed",
      given: begin(lastBoth).apply(turnedTo, "my-etcd-2", "reached").apply(listedBy, "https", ["my-etcd-2"]).snapshot,
      step: restartingLast(lastBoth),
      is: "allowed",
    },
    {
      name: "a new member gets the TLS of other members",
      given: certified,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "a new member does not start without TLS when other members have it",
      given: certified,
      step: bornSpeaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "a new member does not start without a certificate to dial the others",
      given: oneReached,
      step: bornSpeaking(oneReached, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "a new member gets no https URL that some member could not dial",
      given: switching({}, ["both", "both", "nothing"]),
      step: bornSpeaking(certified, HAS.reached),
      is: "forbidden",
    },
    {
      name: "a new member gets no https URL that the only other member could not dial",
      given: { ...lastBoth, peers: lastBoth.peers.slice(0, 1) },
      step: bornSpeaking(certified, HAS.reached),
      is: "forbidden",
    },
    {
      name: "a new member gets an https URL when other members have one, even if a member has no EtcdPeer",
      given: { ...certified, peers: certified.peers.slice(0, 2) },
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "a new member gets no https URL when no member has one",
      given: settled,
      step: bornSpeaking(settled, tlsOfAll),
      is: "forbidden",
    },
    {
      name: "a new member gets the TLS of other members after spec.tls was removed",
      given: asking(certified, { tls: undefined as never }),
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "the first member gets the TLS that the spec requests",
      given: nobody,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "first members get https URLs from the recorded identity, although the spec turns TLS off",
      given: turnedOff,
      step: forming({ peer: tlsOfAll.peer! }),
      is: "allowed",
    },
    {
      name: "first members do not get http URLs when the recorded identity has https",
      given: turnedOff,
      step: forming({ peer: { ...tlsOfAll.peer!, scheme: "http" } }),
      is: "forbidden",
    },
    {
      name: "first members with https in the identity are not created without TLS",
      given: turnedOff,
      step: forming(undefined),
      is: "forbidden",
    },
    {
      name: "first members get no client TLS that the spec does not request",
      given: turnedOff,
      step: forming(tlsOfAll),
      is: "forbidden",
    },
    {
      name: "first members with http in the identity may be created without TLS",
      given: knownByHttp,
      step: forming(undefined),
      is: "allowed",
    },
    {
      name: "first members are not created without TLS when the spec requests it",
      given: nobody,
      step: bornSpeaking(certified, undefined),
      is: "forbidden",
    },
    { name: "steps that concern no member are allowed", given: certified, step: STEPS.issueLeaf, is: "allowed" },
  ],
});

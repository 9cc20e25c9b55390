import { type MemberTemplate, templateIn } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { unknown } from "#base/observed.ts";
import { reachableBy } from "#cluster/certificates/scheme.ts";
import { newPeer, revisedPeer } from "#cluster/desired/peer.ts";
import * as guards from "#cluster/guards/tls-switch.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { stranger, withEachMember, withMember } from "#kit/cluster-changes.ts";
import { NEWER, withCrashing } from "#kit/cluster-rolling.ts";
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
} from "#kit/cluster-steps.ts";
import { HAS, switching, turnedTo, WITHOUT } from "#kit/cluster-switch.ts";
import { listedBy, tlsSpec } from "#kit/cluster-tls.ts";
import { promised } from "#kit/guard-promises.ts";

/** The first member, as it is there, gets this by now. */
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

/** etcd is told of the last member. @param n whose ID that is taken for */
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

/** What the last member had before its turn, its EtcdPeer gets again. */
function givenBack(snapshot: ClusterSnapshot): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-2");
  return { do: "replacePeer", live, peer: revisedPeer(live, live.spec.previous!, undefined) };
}

/** Instead it gets what becomes of that. */
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

/** A cluster that was to have TLS when its identity was recorded, and is to have none by now. */
const turnedOff = asking(nobody, { tls: tlsSpec(WITHOUT) });
const knownByHttp = ((): ClusterSnapshot => {
  const { peerScheme: _, ...others } = turnedOff.cluster.status!.identity!;
  return { ...turnedOff, cluster: { ...turnedOff.cluster, status: { ...turnedOff.cluster.status, identity: others } } };
})();

/** One of the first members is made with this. */
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
      name: "nobody gets TLS that nobody has asked for, although it would serve all clients",
      given: settled,
      step: speaking(settled, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "but where others still have it",
      given: halfBack,
      step: speaking(halfBack, HAS.both),
      is: "allowed",
    },
    {
      name: "who has none yet may go on so",
      given: withNone,
      step: speaking(withNone, undefined),
      is: "allowed",
    },
    {
      name: "who does not come up where it is reached over TLS, and had no certificate before, loses it again: it dials the others",
      given: leapt,
      step: givenBack(leapt),
      is: "allowed",
    },
    {
      name: "unless it could not dial one of them",
      given: leaptPast,
      step: givenBack(leaptPast),
      is: "forbidden",
    },
    {
      name: "who is put back to what it had with a certificate does not lose that as well",
      given: keptPair,
      step: {
        ...(givenBack(keptPair) as { do: "replacePeer"; live: EtcdPeer }),
        peer: revisedPeer(peerOf(keptPair, "my-etcd-2"), templateIn(peerOf(withNone, "my-etcd-2").spec), undefined),
      },
      is: "forbidden",
    },
    {
      name: "the last one to go back from TLS that does not come up gets back what it had, although nobody else has it any more",
      given: lastLost,
      step: givenBack(lastLost),
      is: "allowed",
    },
    {
      name: "and not by what else it gets",
      given: lastLost,
      step: givenAfter(lastLost, (before) => ({ ...before, version: NEWER.version })),
      is: "forbidden",
    },
    {
      name: "but as it may be reached by now",
      given: lastReached,
      step: givenAfter(lastReached, (before) => reachableBy(before, "http")),
      is: "allowed",
    },
    { name: "a member keeps TLS", given: certified, step: speaking(certified, tlsOfAll), is: "allowed" },
    { name: "nobody loses it at once", given: certified, step: speaking(certified, undefined), is: "forbidden" },
    {
      name: "nor on one side",
      given: certified,
      step: speaking(certified, { peer: tlsOfAll.peer! }),
      is: "forbidden",
    },
    {
      name: "nor its certificate for the others while one of them is reached over TLS",
      given: switching(WITHOUT, ["both", "both", "reached"]),
      step: given0(switching(WITHOUT, ["both", "both", "reached"]), { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "by its EtcdPeer, or by etcd's list",
      given: listedBy(switching(WITHOUT, ["both", "both", "both"]), "https", ["my-etcd-2"]),
      step: given0(switching(WITHOUT, ["both", "both", "both"]), { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "or by its pod",
      given: { ...backAgain, pods: switching(WITHOUT, ["both", "both", "reached"]).pods },
      step: given0(backAgain, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "or is about to be",
      given: turnedTo(backAgain, "my-etcd-2", "reached"),
      step: given0(backAgain, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "who has none loses none",
      given: switching(WITHOUT, ["nothing", "both", "reached"]),
      step: given0(switching(WITHOUT, ["nothing", "both", "reached"]), undefined),
      is: "allowed",
    },
    {
      name: "it loses that last",
      given: backAgain,
      step: given0(backAgain, { client: HAS.both.client }),
      is: "allowed",
    },
    { name: "nobody gets it who did not ask", given: settled, step: speaking(settled, tlsOfAll), is: "forbidden" },
    {
      name: "who has asked gets certificates first",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), HAS.both),
      is: "allowed",
    },
    {
      name: "and is not reached over TLS at once",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), HAS.reached),
      is: "forbidden",
    },
    {
      name: "nor serves clients with TLS alone at once",
      given: switching({}, ["nothing", "nothing", "nothing"]),
      step: given0(switching({}, ["nothing", "nothing", "nothing"]), { ...HAS.both, client: HAS.all.client }),
      is: "forbidden",
    },
    {
      name: "nobody is reached over TLS before all have certificates",
      given: switching({}, ["both", "both", "nothing"]),
      step: given0(switching({}, ["both", "both", "nothing"]), HAS.reached),
      is: "forbidden",
    },
    {
      name: "in their pods, too",
      given: { ...lastBoth, pods: switching({}, ["both", "both", "nothing"]).pods },
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "and somebody else's member counts",
      given: withMember(lastBoth, stranger()),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    { name: "then one is", given: lastBoth, step: given0(lastBoth, HAS.reached), is: "allowed" },
    {
      name: "one at a time",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "until etcd lists it so",
      given: listedBy(oneReached, "http", ["my-etcd-2"]),
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    { name: "then the next one", given: oneReached, step: given0(lastBoth, HAS.reached), is: "allowed" },
    {
      name: "nobody while etcd cannot be asked",
      given: { ...lastBoth, members: unknown("no answer") },
      step: given0(lastBoth, HAS.reached),
      is: "forbidden",
    },
    {
      name: "but back to what it had",
      given: { ...turnedTo(lastBoth, "my-etcd-0", "reached"), members: unknown("no answer") },
      step: given0(turnedTo(lastBoth, "my-etcd-0", "reached"), HAS.both),
      is: "allowed",
    },
    {
      name: "nobody who has yet to join",
      given: bootstrapping,
      step: given0(bootstrapping, HAS.reached),
      is: "forbidden",
    },
    {
      name: "its URL is changed before it restarts",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("https"),
      is: "allowed",
    },
    {
      name: "not that of another member",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("https", 1),
      is: "forbidden",
    },
    {
      name: "back whoever could dial nobody over TLS",
      given: turnedTo(switching(WITHOUT, ["nothing", "both", "reached"]), "my-etcd-2", "both"),
      step: listing("http"),
      is: "allowed",
    },
    { name: "to what its EtcdPeer says", given: lastBoth, step: listing("https"), is: "forbidden" },
    {
      name: "not to anything else",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: listing("http"),
      is: "forbidden",
    },
    {
      name: "not while another one is on its way",
      given: turnedTo(listedBy(lastBoth, "https", ["my-etcd-1"]), "my-etcd-2", "reached"),
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "nor before all can dial it",
      given: turnedTo(switching({}, ["nothing", "both", "both"]), "my-etcd-2", "reached"),
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "nor for a learner, which older releases would list as a voter",
      given: withEachMember(turnedTo(lastBoth, "my-etcd-2", "reached"), (member) => ({ ...member, isLearner: true })),
      step: listing("https"),
      is: "forbidden",
    },
    {
      name: "it does not restart before",
      given: turnedTo(lastBoth, "my-etcd-2", "reached"),
      step: restartingLast(lastBoth),
      is: "forbidden",
    },
    {
      name: "unless nothing runs in its pod",
      given: withCrashing(silent(turnedTo(lastBoth, "my-etcd-2", "reached")), "my-etcd-2"),
      step: restartingLast(lastBoth),
      is: "allowed",
    },
    {
      name: "it restarts after it",
      given: listedBy(turnedTo(lastBoth, "my-etcd-2", "reached"), "https", ["my-etcd-2"]),
      step: restartingLast(lastBoth),
      is: "allowed",
    },
    {
      name: "who comes later speaks as all do",
      given: certified,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "and not otherwise", given: certified, step: bornSpeaking(certified, undefined), is: "forbidden" },
    {
      name: "nor without what it takes to dial one of them",
      given: oneReached,
      step: bornSpeaking(oneReached, { client: HAS.both.client }),
      is: "forbidden",
    },
    {
      name: "nor reached over TLS where somebody could not dial it",
      given: switching({}, ["both", "both", "nothing"]),
      step: bornSpeaking(certified, HAS.reached),
      is: "forbidden",
    },
    {
      name: "nor so where the only other one could not",
      given: { ...lastBoth, peers: lastBoth.peers.slice(0, 1) },
      step: bornSpeaking(certified, HAS.reached),
      is: "forbidden",
    },
    {
      name: "but where others are reached so, whoever has no EtcdPeer",
      given: { ...certified, peers: certified.peers.slice(0, 2) },
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "nor so where nobody does", given: settled, step: bornSpeaking(settled, tlsOfAll), is: "forbidden" },
    {
      name: "whatever the spec says by now",
      given: asking(certified, { tls: undefined as never }),
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "the first one speaks as the spec asks for",
      given: nobody,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "those of the identity form the cluster by the URLs that stand there, whatever the spec says by now",
      given: turnedOff,
      step: forming({ peer: tlsOfAll.peer! }),
      is: "allowed",
    },
    {
      name: "and are not made to be reached otherwise",
      given: turnedOff,
      step: forming({ peer: { ...tlsOfAll.peer!, scheme: "http" } }),
      is: "forbidden",
    },
    { name: "nor without TLS", given: turnedOff, step: forming(undefined), is: "forbidden" },
    {
      name: "towards clients as the spec says",
      given: turnedOff,
      step: forming(tlsOfAll),
      is: "forbidden",
    },
    { name: "and without it where their URLs are http", given: knownByHttp, step: forming(undefined), is: "allowed" },
    { name: "and is not made without", given: nobody, step: bornSpeaking(certified, undefined), is: "forbidden" },
    { name: "what is about no member is for others to judge", given: certified, step: STEPS.issueLeaf, is: "allowed" },
  ],
});

import { unknown } from "#base/observed.ts";
import type { Phase } from "#cluster/certificates/rotation.ts";
import * as guards from "#cluster/guards/trust.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { withoutMember } from "#kit/cluster.ts";
import { stranger, withEachMember, withMember, withoutPeers } from "#kit/cluster-changes.ts";
import {
  asking,
  asksClients,
  certified,
  issuing,
  STEPS,
  seenOf,
  settled,
  speaking,
  unasking,
} from "#kit/cluster-steps.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  running,
  THEIRS as SOMEBODY,
  secured,
  withMade,
  withSeen,
} from "#kit/cluster-tls.ts";
import {
  clientsOf,
  clientsTrusting,
  lastTurns,
  leaving,
  notAsking,
  ofBoth,
  seenToo,
  shows,
  turnedTrusting,
} from "#kit/cluster-turn.ts";
import { promised } from "#kit/guard-promises.ts";

const both = bundle(OWN, NEXT);

const withNext = withMade(certified, { peerCA: { next: NEXT }, peer: { trust: both } });

const trusting = running(withNext);

/** The next one signs by now, and the one before is still trusted. */
const switched = withMade(trusting, { peerCA: { by: NEXT, trust: both } });

const signed = withMade(switched, { peer: { by: NEXT, trust: both } });

const replaced = running(signed);

const lastTrusts = running(withNext, ["my-etcd-1", "my-etcd-2"]);

const swapped = withMade(certified, { peerCA: { by: NEXT } });

const noAuthority = withSeen(certified, { peerCA: { is: "absent" } });

/** The pod of one of them has outlived its EtcdPeer. */
const leftOver = withoutPeers(noAuthority, "my-etcd-0");

/** There is a pod of one that is neither listed nor on record. */
const unrecorded = {
  ...noAuthority,
  pods: new Map([...noAuthority.pods, ["my-etcd-7", noAuthority.pods.get("my-etcd-0")!]]),
};

const brokenCA = withMade(certified, { peerCA: { trouble: "its tls.key is not the key of its tls.crt" } });

/** Gives applications what this authority has signed. */
function handing(by: typeof NEXT, isFirst = false): ClusterStep {
  const source = made(certified, "application", { by });
  return { do: "handOut", source, facts: isFirst ? undefined : seenOf(certified, "server"), trust: "" };
}

/** People have brought what members show, and the operator is to issue it again; members do not trust it yet. */
const broughtPeer = secured(
  {},
  { peer: { provider: "Secret", secret: { secretName: "their-peer" } } },
  { by: SOMEBODY },
);

const turnedBack = withMade(goingTo(broughtPeer, {}), { peerCA: {}, peer: {} });

function rotating(snapshot: ClusterSnapshot, phase: Phase): ClusterStep {
  return { do: "rotateAuthority", side: "peer", phase, facts: seenOf(snapshot, "peerCA") };
}

/** Whom a certificate says to trust comes to be this. */
function spreading(trust: string, facts: Parameters<typeof made>[2] = {}): ClusterStep {
  const authority = made(swapped, "peerCA", { by: NEXT, trust });
  return { do: "spreadTrust", purpose: "peer", authority, facts: made(swapped, "peer", facts) };
}

const leaves = (given: object) => ({ server: given, operator: given, application: given });

/** All members show to clients what the next authority has signed, and so does the operator. */
const clientsReplaced = running(
  withMade(running(withMade(certified, { clientCA: { next: NEXT }, ...leaves({ trust: both }) })), {
    clientCA: { by: NEXT, trust: both },
    ...leaves({ by: NEXT, trust: both }),
  }),
);

/** The operator shows to members what the one before has signed. */
const operatorLate = withMade(clientsReplaced, { operator: { trust: both } });

function droppingClients(snapshot: ClusterSnapshot): ClusterStep {
  return {
    do: "rotateAuthority",
    side: "client",
    phase: "drop",
    facts: made(snapshot, "clientCA", { by: NEXT, trust: both }),
  };
}

/** Nobody is asked for a certificate, and the spec has come to want it. */
const asksNobody = asking(unasking, { tls: certified.cluster.spec.tls });

promised(guards, {
  "trusted-first": [
    { name: "who is trusted by all may sign", given: certified, step: issuing(certified), is: "allowed" },
    { name: "who is not may not", given: swapped, step: issuing(swapped), is: "forbidden" },
    {
      name: "not even where nothing is there: members would show what the others refuse",
      given: swapped,
      step: { do: "issueLeaf", purpose: "peer", authority: seenOf(swapped, "peerCA"), facts: undefined },
      is: "forbidden",
    },
    {
      name: "but where nobody is there yet",
      given: { ...swapped, peers: [] },
      step: issuing(swapped),
      is: "allowed",
    },
    {
      name: "who has signed what is there may sign the next one",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: issuing(withMade(swapped, { peer: { by: NEXT } })),
      is: "allowed",
    },
    { name: "whatever has signed what is there", given: swapped, step: rotating(swapped, "forget"), is: "allowed" },
    { name: "one that all trust may follow", given: trusting, step: rotating(trusting, "switch"), is: "allowed" },
    {
      name: "one that one does not trust may not",
      given: lastTrusts,
      step: rotating(lastTrusts, "switch"),
      is: "forbidden",
    },
    { name: "none may not", given: certified, step: rotating(certified, "switch"), is: "forbidden" },
    { name: "another one may always be made", given: certified, step: rotating(certified, "add"), is: "allowed" },
    {
      name: "the one before goes once nothing of its is in use",
      given: replaced,
      step: rotating(replaced, "drop"),
      is: "allowed",
    },
    { name: "and not before", given: switched, step: rotating(switched, "drop"), is: "forbidden" },
    {
      name: "towards clients it goes once the operator shows nothing of its either",
      given: clientsReplaced,
      step: droppingClients(clientsReplaced),
      is: "allowed",
    },
    {
      name: "and not while the operator alone does",
      given: operatorLate,
      step: droppingClients(operatorLate),
      is: "forbidden",
    },
    {
      name: "nor while pods may still show it, whatever their Secret holds",
      given: signed,
      step: rotating(signed, "drop"),
      is: "forbidden",
    },
    {
      name: "nor while one may",
      given: running(signed, ["my-etcd-0", "my-etcd-2"]),
      step: rotating(signed, "drop"),
      is: "forbidden",
    },
    {
      name: "nor while one was made just now, by whose kubelet it may have been given what another one had",
      given: seenToo(replaced, { podsForMs: new Map([["my-etcd-1", 149_999]]) }),
      step: rotating(replaced, "drop"),
      is: "forbidden",
    },
    {
      name: "nor while somebody does not trust the other one",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: rotating(withMade(swapped, { peer: { by: NEXT } }), "drop"),
      is: "forbidden",
    },
    {
      name: "who is not trusted yet may sign what nobody shows",
      given: turnedBack,
      step: { do: "issueLeaf", purpose: "peer", authority: seenOf(turnedBack, "peerCA"), facts: undefined },
      is: "allowed",
    },
    {
      name: "applications get what members believe",
      given: certified,
      step: { do: "handOut", source: seenOf(certified, "server"), facts: seenOf(certified, "server"), trust: "" },
      is: "allowed",
    },
    { name: "and not what they do not", given: certified, step: handing(NEXT), is: "forbidden" },
    {
      name: "unless what they have is by the same",
      given: certified,
      step: { ...handing(NEXT), facts: made(certified, "application", { by: NEXT }) } as ClusterStep,
      is: "allowed",
    },
    { name: "or they have had nothing", given: certified, step: handing(NEXT, true), is: "allowed" },
    { name: "or nobody asks for it", given: notAsking(certified), step: handing(NEXT), is: "allowed" },
    {
      name: "what is about no authority is for others to judge",
      given: swapped,
      step: STEPS.createTrustMap,
      is: "allowed",
    },
  ],
  "trust-kept": [
    {
      name: "more may be trusted",
      given: certified,
      step: speaking(certified, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "who has signed what members show stays trusted",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("my-etcd-peer-tls", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "also while one shows it",
      given: lastTurns,
      step: speaking(lastTurns, shows("their-peer", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "and goes once nobody does",
      given: running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
      step: speaking(
        running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
        shows("their-peer", bundle(SOMEBODY)),
      ),
      is: "allowed",
    },
    {
      name: "but the one that all show by then",
      given: running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
      step: speaking(running(turnedTrusting, undefined, shows("their-peer", ofBoth)), shows("their-peer", bundle(OWN))),
      is: "forbidden",
    },
    {
      name: "who vouches for the operator stays trusted",
      given: clientsTrusting,
      step: speaking(clientsTrusting, clientsOf("my-etcd-server-tls", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "and may go where members do not ask for that",
      given: notAsking(clientsTrusting),
      step: speaking(clientsTrusting, clientsOf("my-etcd-server-tls", bundle(SOMEBODY))),
      is: "allowed",
    },
    {
      name: "a member comes to ask for certificates",
      given: asksNobody,
      step: asksClients(asksNobody, true),
      is: "allowed",
    },
    {
      name: "but not where it would not believe the operator's",
      given: withMade(asksNobody, { operator: { by: NEXT } }),
      step: asksClients(asksNobody, true),
      is: "forbidden",
    },
    {
      name: "which is no matter where it asks already",
      given: withMade(certified, { operator: { by: NEXT } }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "or goes on asking nobody",
      given: withMade(asksNobody, { operator: { by: NEXT } }),
      step: asksClients(asksNobody, false),
      is: "allowed",
    },
    {
      name: "who did not vouch before is no loss",
      given: withMade(certified, { operator: { by: NEXT } }),
      step: speaking(certified, clientsOf("my-etcd-server-tls", bundle(OWN, SOMEBODY))),
      is: "allowed",
    },
    {
      name: "a Secret goes on to name who has signed what it holds",
      given: swapped,
      step: spreading(bundle(NEXT, OWN)),
      is: "allowed",
    },
    {
      name: "and is not told to name only another one",
      given: swapped,
      step: spreading(bundle(NEXT)),
      is: "forbidden",
    },
    {
      name: "unless it names nobody who has",
      given: swapped,
      step: spreading(bundle(NEXT), { trust: bundle(SOMEBODY) }),
      is: "allowed",
    },
    { name: "what changes no member is for others to judge", given: leaving, step: STEPS.markRemoval, is: "allowed" },
  ],
  "authority-kept": [
    { name: "one is made where there is none", given: noAuthority, step: STEPS.issueAuthority, is: "allowed" },
    { name: "and nowhere else", given: certified, step: STEPS.issueAuthority, is: "forbidden" },
    {
      name: "nor while somebody runs on whose EtcdPeer is gone, and who trusts another one",
      given: leftOver,
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "also while etcd lists it by nothing but its URL",
      given: withEachMember(leftOver, (_, n) => (n === 0 ? { id: memberIdFromHex("f00"), name: "" } : {})),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "or by one URL of several",
      given: withMember(
        withoutMember(leftOver, "my-etcd-0"),
        stranger({ peerUrls: ["https://10.0.0.9:2380", "https://my-etcd-0:2380"] }),
      ),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "or as one that somebody else has added, by its host",
      given: withMember(withoutMember(leftOver, "my-etcd-0"), stranger({ peerUrls: ["https://my-etcd-0:2380"] })),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "or by its name",
      given: withMember(withoutMember(leftOver, "my-etcd-0"), stranger({ name: "my-etcd-0" })),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "or by nothing but its ID",
      given: withEachMember(leftOver, (_, n) => (n === 0 ? { name: "", peerUrls: ["https://10.1.2.3:2380"] } : {})),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "and while nobody knows whether it is a member, of which nothing is on record",
      given: { ...unrecorded, members: unknown("no leader") },
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "etcd knows that it is none",
      given: unrecorded,
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "who is no member any more has nobody to believe: on a node that is lost its pod ends never",
      given: withoutMember(leftOver, "my-etcd-0"),
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "who runs on and trusts nobody is no hindrance",
      given: { ...noAuthority, peers: noAuthority.peers.slice(1), pods: settled.pods },
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "nor where it could not be read",
      given: withSeen(certified, { peerCA: { is: "unknown", why: "no answer" } }),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    { name: "nor where nobody looked", given: settled, step: STEPS.issueAuthority, is: "forbidden" },
    {
      name: "one for members is none for clients",
      given: noAuthority,
      step: { do: "issueAuthority", side: "client", trust: "" },
      is: "forbidden",
    },
    { name: "one that is whole is followed", given: certified, step: STEPS.rotateAuthority, is: "allowed" },
    { name: "one that is not is left alone", given: brokenCA, step: rotating(brokenCA, "add"), is: "forbidden" },
    {
      name: "what is about no authority is for others to judge",
      given: certified,
      step: STEPS.issueLeaf,
      is: "allowed",
    },
  ],
});

import { unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { withoutMember } from "#kit/snapshots/cluster.ts";
import { stranger, withEachMember, withMember, withoutPeers } from "#kit/snapshots/cluster-changes.ts";
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
} from "#kit/snapshots/cluster-steps.ts";
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
} from "#kit/snapshots/cluster-tls.ts";
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
} from "#kit/snapshots/provider-change.ts";
import { promised } from "#kit/tables/guard-promises.ts";
import type { Phase } from "./ca-rotation.ts";
import * as guards from "./trust-guards.ts";

const both = bundle(OWN, NEXT);

const withNext = withMade(certified, { peerCA: { next: NEXT }, peer: { trust: both } });

const trusting = running(withNext);

/** The new CA signs, and the old one is still trusted. */
const switched = withMade(trusting, { peerCA: { by: NEXT, trust: both } });

const signed = withMade(switched, { peer: { by: NEXT, trust: both } });

const replaced = running(signed);

const lastTrusts = running(withNext, ["my-etcd-1", "my-etcd-2"]);

const swapped = withMade(certified, { peerCA: { by: NEXT } });

const noAuthority = withSeen(certified, { peerCA: { is: "absent" } });

/** The pod of one member has outlived its EtcdPeer. */
const leftOver = withoutPeers(noAuthority, "my-etcd-0");

/** A pod of a member that is neither listed nor recorded. */
const unrecorded = {
  ...noAuthority,
  pods: new Map([...noAuthority.pods, ["my-etcd-7", noAuthority.pods.get("my-etcd-0")!]]),
};

const brokenCA = withMade(certified, { peerCA: { trouble: "its tls.key is not the key of its tls.crt" } });

/** The step that publishes a certificate of this CA to applications. */
function clientsMoving(by: typeof NEXT, isFirst = false): ClusterStep {
  const source = made(certified, "application", { by });
  return { do: "publishClientSecret", source, facts: isFirst ? undefined : seenOf(certified, "server"), trust: "" };
}

/** Members use a user-provided Secret and do not trust the operator's CA yet; provider Operator is requested. */
const broughtPeer = secured({}, { peer: { provider: "Secret", secret: { name: "their-peer" } } }, { by: SOMEBODY });

const turnedBack = begin(broughtPeer).apply(goingTo, {}).apply(withMade, { peerCA: {}, peer: {} }).snapshot;

function rotating(snapshot: ClusterSnapshot, phase: Phase): ClusterStep {
  return { do: "rotateAuthority", side: "peer", phase, facts: seenOf(snapshot, "peerCA") };
}

/** A certificate's Secret gets this bundle. */
function spreading(trust: string, facts: Parameters<typeof made>[2] = {}): ClusterStep {
  const authority = made(swapped, "peerCA", { by: NEXT, trust });
  return { do: "spreadTrust", purpose: "peer", authority, facts: made(swapped, "peer", facts) };
}

const leaves = (given: object) => ({ server: given, operator: given, application: given });

/** All members, and the operator, use certificates of the next CA on the client side. */
const clientsReplaced = begin(certified)
  .apply(withMade, { clientCA: { next: NEXT }, ...leaves({ trust: both }) })
  .apply(running)
  .apply(withMade, {
    clientCA: { by: NEXT, trust: both },
    ...leaves({ by: NEXT, trust: both }),
  })
  .apply(running).snapshot;

/** The operator uses a certificate of the old CA. */
const operatorLate = withMade(clientsReplaced, { operator: { trust: both } });

function droppingClients(snapshot: ClusterSnapshot): ClusterStep {
  return {
    do: "rotateAuthority",
    side: "client",
    phase: "drop",
    facts: made(snapshot, "clientCA", { by: NEXT, trust: both }),
  };
}

/** Members require no client certificates, and the spec now requires them. */
const beginsToVerify = asking(unasking, { tls: certified.cluster.spec.tls });

promised(guards, {
  "trusted-first": [
    { name: "a CA that all members trust may sign", given: certified, step: issuing(certified), is: "allowed" },
    { name: "a CA that members do not trust may not sign", given: swapped, step: issuing(swapped), is: "forbidden" },
    {
      name: "a CA that members do not trust may not sign a missing certificate",
      given: swapped,
      step: { do: "issueLeaf", purpose: "peer", authority: seenOf(swapped, "peerCA"), facts: undefined },
      is: "forbidden",
    },
    {
      name: "a CA may sign before there are members",
      given: { ...swapped, peers: [] },
      step: issuing(swapped),
      is: "allowed",
    },
    {
      name: "the CA of the existing certificate may sign the next one",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: issuing(withMade(swapped, { peer: { by: NEXT } })),
      is: "allowed",
    },
    {
      name: "the record of a rotation request may be removed while members do not trust the CA",
      given: swapped,
      step: rotating(swapped, "forget"),
      is: "allowed",
    },
    {
      name: "a next CA that all members trust may begin to sign",
      given: trusting,
      step: rotating(trusting, "switch"),
      is: "allowed",
    },
    {
      name: "a next CA that a single member does not trust may not begin to sign",
      given: lastTrusts,
      step: rotating(lastTrusts, "switch"),
      is: "forbidden",
    },
    {
      name: "a next CA that does not exist may not begin to sign",
      given: certified,
      step: rotating(certified, "switch"),
      is: "forbidden",
    },
    { name: "a next CA may always be created", given: certified, step: rotating(certified, "add"), is: "allowed" },
    {
      name: "the old CA is dropped once none of its certificates is in use",
      given: replaced,
      step: rotating(replaced, "drop"),
      is: "allowed",
    },
    {
      name: "the old CA is not dropped while its certificates are in use",
      given: switched,
      step: rotating(switched, "drop"),
      is: "forbidden",
    },
    {
      name: "the old CA is dropped on the client side once the operator uses none of its certificates",
      given: clientsReplaced,
      step: droppingClients(clientsReplaced),
      is: "allowed",
    },
    {
      name: "the old CA is not dropped while the operator alone uses its certificate",
      given: operatorLate,
      step: droppingClients(operatorLate),
      is: "forbidden",
    },
    {
      name: "the old CA is not dropped while pods may use its certificates, although the Secret has a new one",
      given: signed,
      step: rotating(signed, "drop"),
      is: "forbidden",
    },
    {
      name: "the old CA is not dropped while one pod may use its certificate",
      given: running(signed, ["my-etcd-0", "my-etcd-2"]),
      step: rotating(signed, "drop"),
      is: "forbidden",
    },
    {
      name: "the old CA is not dropped while a pod is new, because its kubelet may have cached an old Secret",
      given: seenToo(replaced, { podsForMs: new Map([["my-etcd-1", 149_999]]) }),
      step: rotating(replaced, "drop"),
      is: "forbidden",
    },
    {
      name: "the old CA is not dropped while a member does not trust the new CA",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: rotating(withMade(swapped, { peer: { by: NEXT } }), "drop"),
      is: "forbidden",
    },
    {
      name: "a CA that is not trusted yet may sign a certificate that is not in use",
      given: turnedBack,
      step: { do: "issueLeaf", purpose: "peer", authority: seenOf(turnedBack, "peerCA"), facts: undefined },
      is: "allowed",
    },
    {
      name: "applications get a certificate that members trust",
      given: certified,
      step: {
        do: "publishClientSecret",
        source: seenOf(certified, "server"),
        facts: seenOf(certified, "server"),
        trust: "",
      },
      is: "allowed",
    },
    {
      name: "applications get no certificate that members reject",
      given: certified,
      step: clientsMoving(NEXT),
      is: "forbidden",
    },
    {
      name: "applications may get a certificate of the same CA",
      given: certified,
      step: { ...clientsMoving(NEXT), facts: made(certified, "application", { by: NEXT }) } as ClusterStep,
      is: "allowed",
    },
    {
      name: "applications may get any certificate when they have none",
      given: certified,
      step: clientsMoving(NEXT, true),
      is: "allowed",
    },
    {
      name: "applications may get any certificate when members do not verify it",
      given: notAsking(certified),
      step: clientsMoving(NEXT),
      is: "allowed",
    },
    {
      name: "steps that concern no CA are allowed",
      given: swapped,
      step: STEPS.createTrustMap,
      is: "allowed",
    },
  ],
  "trust-kept": [
    {
      name: "members may trust more CAs",
      given: certified,
      step: speaking(certified, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "the CA of certificates in use stays trusted",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("my-etcd-peer-tls", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "the CA of a certificate in use by a single member stays trusted",
      given: lastTurns,
      step: speaking(lastTurns, shows("their-peer", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "the CA is dropped once none of its certificates is in use",
      given: running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
      step: speaking(
        running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
        shows("their-peer", bundle(SOMEBODY)),
      ),
      is: "allowed",
    },
    {
      name: "the CA of the new certificates that all members use is not dropped",
      given: running(turnedTrusting, undefined, shows("their-peer", ofBoth)),
      step: speaking(running(turnedTrusting, undefined, shows("their-peer", ofBoth)), shows("their-peer", bundle(OWN))),
      is: "forbidden",
    },
    {
      name: "the CA of the operator's certificate stays trusted",
      given: clientsTrusting,
      step: speaking(clientsTrusting, clientsOf("my-etcd-server-tls", bundle(SOMEBODY))),
      is: "forbidden",
    },
    {
      name: "the CA of the operator's certificate may be dropped where members do not verify it",
      given: notAsking(clientsTrusting),
      step: speaking(clientsTrusting, clientsOf("my-etcd-server-tls", bundle(SOMEBODY))),
      is: "allowed",
    },
    {
      name: "a member begins to require client certificates",
      given: beginsToVerify,
      step: asksClients(beginsToVerify, true),
      is: "allowed",
    },
    {
      name: "a member does not begin to require client certificates that would be rejected",
      given: withMade(beginsToVerify, { operator: { by: NEXT } }),
      step: asksClients(beginsToVerify, true),
      is: "forbidden",
    },
    {
      name: "a member that already requires client certificates keeps doing so when the operator's is rejected",
      given: withMade(certified, { operator: { by: NEXT } }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "a member that verifies no client certificates may be updated when the operator's is rejected",
      given: withMade(beginsToVerify, { operator: { by: NEXT } }),
      step: asksClients(beginsToVerify, false),
      is: "allowed",
    },
    {
      name: "a CA that did not sign a certificate in use may be dropped",
      given: withMade(certified, { operator: { by: NEXT } }),
      step: speaking(certified, clientsOf("my-etcd-server-tls", bundle(OWN, SOMEBODY))),
      is: "allowed",
    },
    {
      name: "a Secret keeps the CA that signed its certificate",
      given: swapped,
      step: spreading(bundle(NEXT, OWN)),
      is: "allowed",
    },
    {
      name: "a Secret does not lose the CA that signed its certificate",
      given: swapped,
      step: spreading(bundle(NEXT)),
      is: "forbidden",
    },
    {
      name: "a Secret with an unknown signer may get any CA",
      given: swapped,
      step: spreading(bundle(NEXT), { trust: bundle(SOMEBODY) }),
      is: "allowed",
    },
    { name: "steps that change no member are allowed", given: leaving, step: STEPS.markRemoval, is: "allowed" },
  ],
  "authority-kept": [
    {
      name: "a CA is created when its Secret is missing",
      given: noAuthority,
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "a CA is not created when its Secret exists",
      given: certified,
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created while a pod without EtcdPeer runs that trusts another CA",
      given: leftOver,
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created while etcd lists the member of a pod without EtcdPeer by URL only",
      given: withEachMember(leftOver, (_, n) => (n === 0 ? { id: memberIdFromHex("f00"), name: "" } : {})),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created while etcd lists the member of a pod without EtcdPeer by one of several URLs",
      given: begin(leftOver)
        .apply(withoutMember, "my-etcd-0")
        .apply(withMember, stranger({ peerUrls: ["https://10.0.0.9:2380", "https://my-etcd-0:2380"] })).snapshot,
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created while etcd lists the host of a pod without EtcdPeer under another name",
      given: begin(leftOver)
        .apply(withoutMember, "my-etcd-0")
        .apply(withMember, stranger({ peerUrls: ["https://my-etcd-0:2380"] })).snapshot,
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created while etcd lists the name of a pod without EtcdPeer with another ID",
      given: begin(leftOver)
        .apply(withoutMember, "my-etcd-0")
        .apply(withMember, stranger({ name: "my-etcd-0" })).snapshot,
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created while etcd lists the member of a pod without EtcdPeer by ID only",
      given: withEachMember(leftOver, (_, n) => (n === 0 ? { name: "", peerUrls: ["https://10.1.2.3:2380"] } : {})),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created while a pod without EtcdPeer runs and the member list is unknown",
      given: { ...unrecorded, members: unknown("no leader") },
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is created when a pod without EtcdPeer has no member in etcd",
      given: unrecorded,
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "a CA is created while the pod of a removed member runs, since on a lost node it may never end",
      given: withoutMember(leftOver, "my-etcd-0"),
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "a CA is created while a pod without TLS and EtcdPeer runs",
      given: { ...noAuthority, peers: noAuthority.peers.slice(1), pods: settled.pods },
      step: STEPS.issueAuthority,
      is: "allowed",
    },
    {
      name: "a CA is not created when its Secret could not be read",
      given: withSeen(certified, { peerCA: { is: "unknown", why: "no answer" } }),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a CA is not created when its Secret was not read",
      given: settled,
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    {
      name: "a missing peer CA does not allow a new client CA",
      given: noAuthority,
      step: { do: "issueAuthority", side: "client", trust: "" },
      is: "forbidden",
    },
    { name: "a valid CA may be rotated", given: certified, step: STEPS.rotateAuthority, is: "allowed" },
    { name: "an invalid CA may not be rotated", given: brokenCA, step: rotating(brokenCA, "add"), is: "forbidden" },
    {
      name: "steps that create no CA are allowed",
      given: certified,
      step: STEPS.issueLeaf,
      is: "allowed",
    },
  ],
});

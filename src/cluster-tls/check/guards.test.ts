import { present } from "#base/observed.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { NEWER, OLD, withCrashing } from "#kit/snapshots/cluster-rolling.ts";
import {
  asking,
  bornSpeaking,
  certified,
  giving,
  peerOf,
  restarting,
  STEPS,
  speaking,
  tlsOfAll,
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
  tlsSpec,
  unissued,
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
  shows,
  turnedClients,
  turnedTrusting,
} from "#kit/snapshots/provider-change.ts";
import { HAS, switching } from "#kit/snapshots/scheme-change.ts";
import { issuedBy } from "#kit/snapshots/tls-status.ts";
import { promised } from "#kit/tables/guard-promises.ts";
import * as guards from "./guards.ts";

/** The step for a member with unchanged TLS. */
function givingAll(snapshot: ClusterSnapshot, name: string): ClusterStep {
  const { tls } = peerOf(snapshot, name).spec;
  const live = peerOf(snapshot, name);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, version: NEWER.version, tls: tls! }, OLD) };
}

/** The peer certificates of members are signed by another CA. */
const doubted = withMade(certified, { peer: { by: NEXT } });

const theirPeer = tlsSpec({ peer: { provider: "Secret", secret: { name: "their-peer" } } });

const doubtedElsewhere = begin(certified)
  .apply(asking, { tls: theirPeer })
  .apply(withMade, { peer: { by: NEXT } }).snapshot;

const unshown = withSeen(certified, { peer: { is: "absent" } });

const unserved = withSeen(certified, { server: { is: "absent" } });

const unservedHalf = withMade(certified, { server: { trouble: "it has no tls.key" } });

const doubtedByClients = withMade(certified, { server: { by: NEXT } });

const halved = withMade(certified, { peer: { trouble: "it has no tls.key" } });

const justMade = withMade(certified, { peer: { knownForMs: 149_999 } });

/** All pods were created at eleven o'clock. The Secret was written this long after, in milliseconds. */
const writtenAfter = (ms: number, snapshot = justMade) =>
  withMade(snapshot, { peer: { knownForMs: 149_999, writtenAtMs: Date.parse("2026-01-01T11:00:00Z") + ms } });

const longMade = withMade(certified, { peer: { knownForMs: 150_000 } });

const doubtedDown = withMade(secured({ down: ["my-etcd-2"] }), { peer: { by: NEXT } });

const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };

const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: { provider: "Secret", secret },
};

const brought = secured({}, BROUGHT, { isOurs: false });

const bring = unissued({ stage: "recorded" }, BROUGHT);

const broughtFirst = withMade(bring, { peer: { isOurs: false }, server: { isOurs: false } });

const withheldFirst = withMade(broughtFirst, { peer: { isOurs: false, mayBeShown: false } });

/** The first member gets these user-provided Secrets. */
function broughtIn(secretName = "their-peer"): ClusterStep {
  const { peer, client } = memberTls(broughtFirst)!;
  return bornSpeaking(certified, { client: client!, peer: { ...peer!, secretName } });
}

/** The EtcdPeer of the first member has the new Secret, and its pod the previous one. */
const aboutToTurn = { ...lastTurns, pods: turnedTrusting.pods };

/** All members use a Secret that is neither requested nor recorded. */
const turnedAway = running(turnedTrusting, undefined, shows("second-peer", ofBoth));

/** A user-provided Secret is recorded, and provider Operator is requested. */
function broughtBefore(given: { mayBeShown?: boolean }): ClusterSnapshot {
  const made = begin(turnedAway)
    .apply(asking, { tls: theirPeer })
    .apply(withMade, { peer: { by: SOMEBODY, isOurs: false, ...given } }).snapshot;
  const { certificates, cluster } = made;
  const status = issuedBy(cluster.status, { peer: { provider: "Secret", secret: { name: "their-peer" } } });
  const previous = { peer: certificates?.peer } as NonNullable<ClusterSnapshot["certificates"]>["previous"];
  const asked = asking({ ...made, cluster: { ...cluster, status } }, { tls: tlsSpec() });
  return { ...asked, certificates: { ...certificates, previous } as ClusterSnapshot["certificates"] };
}

/** No member has TLS, and spec.tls names the operator's own Secrets as user-provided. No status records the issuer. */
function ownNamed(given: { isOurs?: boolean }): ClusterSnapshot {
  const own = { server: { name: "my-etcd-server-tls" }, operator: { name: "my-etcd-operator-tls" } };
  const tls = {
    peer: { provider: "Secret", secret: { name: "my-etcd-peer-tls" } },
    client: { provider: "Secret", secret: own },
  };
  const all = { ...given, mayBeShown: false };
  return withMade(switching(tls, ["nothing", "nothing", "nothing"]), { peer: all, server: all });
}

/** The peer Secret, which is no longer requested, was observed like this. */
function withFormer(snapshot: ClusterSnapshot, peer: { is: "absent" }): ClusterSnapshot {
  const { certificates } = snapshot;
  return { ...snapshot, certificates: { ...certificates, previous: { ...certificates?.previous, peer } } };
}

/** Both sides change, and members trust the new CA on the peer side only. */
const bothLeaving = begin(certified)
  .apply(goingTo, BROUGHT)
  .apply(withMade, {
    peer: { by: SOMEBODY, isOurs: false },
    server: { by: SOMEBODY, isOurs: false },
    operator: { by: SOMEBODY, isOurs: false },
  })
  .apply(running, undefined, shows("my-etcd-peer-tls", ofBoth)).snapshot;
const clientsHave = (secretName: string, trust: string) => ({
  client: { secretName, trust, clientCertificates: "Required" as const },
});
const withoutTls = switching({}, ["nothing", "nothing", "nothing"]);
/** The EtcdPeer of the first member has certificates, and its pod has none. */
const withTls = { ...switching({}, ["both", "nothing", "nothing"]), pods: withoutTls.pods };
const lastDoubts = running(certified, ["my-etcd-2"], shows("my-etcd-peer-tls", bundle(SOMEBODY)));

promised(guards, {
  "allowed-secrets": [
    { name: "a Secret with consent is mounted", given: broughtFirst, step: broughtIn(), is: "allowed" },
    { name: "a Secret without consent is not mounted", given: withheldFirst, step: broughtIn(), is: "forbidden" },
    {
      name: "a Secret without consent is not mounted on the client side",
      given: withMade(broughtFirst, { server: { isOurs: false, mayBeShown: false } }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "a Secret that was not read is not mounted",
      given: withSeen(broughtFirst, { peer: { is: "absent" } }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "a Secret other than the observed one is not mounted",
      given: broughtFirst,
      step: broughtIn("others"),
      is: "forbidden",
    },
    {
      name: "a Secret is not mounted when only the previously requested one was read",
      given: withSeen(broughtFirst, {
        peer: present({ ...made(broughtFirst, "peer", { isOurs: false }), secretName: "before" }),
      }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "a member that uses a Secret without consent keeps it",
      given: withMade(brought, { peer: { isOurs: false, mayBeShown: false } }),
      step: speaking(brought, peerOf(brought, "my-etcd-0").spec.tls),
      is: "allowed",
    },
    {
      name: "a Secret that the operator creates needs no consent",
      given: certified,
      step: speaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "steps that concern no member are allowed", given: certified, step: STEPS.issueLeaf, is: "allowed" },
    {
      name: "a Secret recorded as in use needs no consent",
      given: turnedAway,
      step: speaking(turnedAway, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "a user-provided Secret in use needs consent",
      given: broughtBefore({ mayBeShown: false }),
      step: speaking(turnedAway, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "a user-provided Secret in use is mounted with consent",
      given: broughtBefore({}),
      step: speaking(turnedAway, shows("their-peer", ofBoth)),
      is: "allowed",
    },
    {
      name: "a Secret that the operator created needs no consent, even when spec.tls names it as user-provided",
      given: ownNamed({ isOurs: true }),
      step: speaking(ownNamed({}), tlsOfAll),
      is: "allowed",
    },
    {
      name: "a Secret that the operator creates needs no consent even if it was not read",
      given: withSeen(switching({}, ["nothing", "nothing", "nothing"]), { peer: { is: "absent" } }),
      step: speaking(ownNamed({}), tlsOfAll),
      is: "allowed",
    },
    {
      name: "another owner's Secret with the operator's name needs consent",
      given: ownNamed({ isOurs: false }),
      step: speaking(ownNamed({}), tlsOfAll),
      is: "forbidden",
    },
    {
      name: "a Secret that is neither requested nor recorded as in use is not mounted",
      given: certified,
      step: speaking(certified, shows("another", ofBoth)),
      is: "forbidden",
    },
  ],
  "certificate-is-trusted": [
    {
      name: "the peer certificate is checked although clients need no certificate",
      given: notAsking(leaving),
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "both sides are checked when both change",
      given: bothLeaving,
      step: speaking(bothLeaving, { ...shows("their-peer", ofBoth), ...clientsHave("their-server", ofBoth) }),
      is: "forbidden",
    },
    {
      name: "a member without TLS in its pod may restart while the certificate is missing",
      given: withSeen(withTls, { peer: { is: "absent" } }),
      step: restarting(withTls, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "a member without TLS may get a template with a missing certificate",
      given: withSeen(withoutTls, { peer: { is: "absent" } }),
      step: speaking(withoutTls, HAS.both),
      is: "allowed",
    },
    {
      name: "a member may restart with an unchanged Secret, even an invalid one",
      given: halved,
      step: restarting(halved, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "a certificate that all members trust may be used",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "allowed",
    },
    {
      name: "a certificate that no member trusts may not be used",
      given: leaving,
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "a certificate that a single member rejects may not be used",
      given: running(leaving, ["my-etcd-0", "my-etcd-1"], shows("my-etcd-peer-tls", ofBoth)),
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "a missing certificate may not be used",
      given: withSeen(turnedTrusting, { peer: { is: "absent" } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "a certificate that was not read may not be used",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("another", ofBoth)),
      is: "forbidden",
    },
    {
      name: "an invalid certificate may not be used",
      given: withMade(turnedTrusting, { peer: { by: SOMEBODY, isOurs: false, trouble: "it has no tls.key" } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "an expired certificate may not be used",
      given: withMade(turnedTrusting, { peer: { by: SOMEBODY, isOurs: false, lastsMs: 0 } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "a member may keep a Secret while it begins to trust more CAs",
      given: leaving,
      step: speaking(leaving, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "a member restarts with a certificate that all members trust",
      given: aboutToTurn,
      step: restarting(aboutToTurn, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member does not restart once the Secret has a new certificate",
      given: withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }),
      step: restarting(withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }), "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member with the previous Secret may restart with that",
      given: withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }),
      step: restarting(withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a server certificate that no member trusts may not be used",
      given: turnedClients,
      step: speaking(turnedClients, clientsOf("their-server", ofBoth)),
      is: "forbidden",
    },
    {
      name: "a trusted server certificate may be used",
      given: clientsTrusting,
      step: speaking(clientsTrusting, clientsOf("their-server", ofBoth)),
      is: "allowed",
    },
    {
      name: "a server certificate that members do not trust may be used when clients need no certificate",
      given: notAsking(turnedClients),
      step: speaking(turnedClients, clientsOf("their-server", ofBoth)),
      is: "allowed",
    },
    { name: "a step that changes no TLS is allowed", given: leaving, step: STEPS.markRemoval, is: "allowed" },
  ],
  "members-trust-each-other": [
    {
      name: "no member restarts while one rejects a peer certificate in use",
      given: lastDoubts,
      step: restarting(lastDoubts, "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "no member restarts during a change while the Secret in use is missing",
      given: withFormer(turnedTrusting, { is: "absent" }),
      step: restarting(turnedTrusting, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member may change to a Secret that replaces the rejected one",
      given: withFormer(aboutToTurn, { is: "absent" }),
      step: restarting(aboutToTurn, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member may get a template with the Secret that replaces the rejected one",
      given: withFormer(turnedTrusting, { is: "absent" }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "allowed",
    },
    {
      name: "a member does not restart with the rejected certificate",
      given: withFormer(aboutToTurn, { is: "absent" }),
      step: restarting(aboutToTurn, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a member restarts although members reject a certificate that is not in use",
      given: doubtedElsewhere,
      step: restarting(doubtedElsewhere, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member restarts while all trust each other",
      given: certified,
      step: restarting(certified, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member does not restart while members reject each other",
      given: doubted,
      step: restarting(doubted, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member gets no template that requires a restart while members reject each other",
      given: doubted,
      step: giving(doubted, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a pod without running containers may be recreated while members reject each other",
      given: withCrashing(doubtedDown, "my-etcd-2"),
      step: restarting(withCrashing(doubtedDown, "my-etcd-2"), "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no lost member is replaced while members reject each other",
      given: doubted,
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "a lost member is replaced while all members trust each other",
      given: certified,
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "a scale-down may remove a member while members reject each other",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a removal may be withdrawn while members reject each other",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "steps that interrupt no member are allowed while members reject each other",
      given: doubted,
      step: STEPS.createService,
      is: "allowed",
    },
    {
      name: "a member restarts when its peer Secret could not be read",
      given: withSeen(doubted, { peer: { is: "unknown", why: "no answer" } }),
      step: restarting(doubted, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no member restarts while its peer Secret is missing",
      given: unshown,
      step: restarting(unshown, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "no member restarts while its server Secret is missing",
      given: unserved,
      step: restarting(unserved, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member gets no template with a missing Secret",
      given: unserved,
      step: givingAll(unserved, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member may get a template without the missing server Secret",
      given: unserved,
      step: giving(unserved, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no member restarts with an invalid server certificate",
      given: unservedHalf,
      step: restarting(unservedHalf, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "no member restarts with a server certificate that it would reject itself",
      given: doubtedByClients,
      step: restarting(doubtedByClients, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a lost member is replaced although the server certificate is invalid",
      given: unservedHalf,
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "a member restarts when its new template trusts its server certificate",
      given: doubtedByClients,
      step: speaking(doubtedByClients, clientsOf("my-etcd-server-tls", bundle(NEXT, OWN))),
      is: "allowed",
    },
    {
      name: "a lost member is replaced although its server Secret is missing",
      given: unserved,
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "a member may restart although its server Secret could not be read",
      given: withSeen(certified, { server: { is: "unknown", why: "no answer" } }),
      step: restarting(certified, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no member restarts with an invalid peer certificate",
      given: halved,
      step: restarting(halved, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a lost member is replaced although its peer Secret is missing",
      given: unshown,
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "no lost member is replaced while the peer certificate is invalid, which may be the cause",
      given: halved,
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "no lost member is replaced while pods may not have the new certificate",
      given: justMade,
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "no lost member is replaced while pods are older than a new peer certificate",
      given: writtenAfter(1_000),
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "a lost member is replaced when pods are newer than the peer certificate",
      given: writtenAfter(-5_001),
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "no lost member is replaced when clock skew may make pods look newer",
      given: writtenAfter(-5_000),
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "a lost member is replaced after pods had 150 s to get the new certificate",
      given: longMade,
      step: STEPS.markRemoval,
      is: "allowed",
    },
    {
      name: "a restart does not wait for the kubelet to update a Secret",
      given: justMade,
      step: restarting(justMade, "my-etcd-2"),
      is: "allowed",
    },
  ],
});

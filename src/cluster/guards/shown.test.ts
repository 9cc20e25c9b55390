import { present } from "#base/observed.ts";
import { memberTls } from "#cluster/certificates.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import * as guards from "#cluster/guards/shown.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { NEWER, OLD, withCrashing } from "#kit/cluster-rolling.ts";
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
} from "#kit/cluster-steps.ts";
import { HAS, switching } from "#kit/cluster-switch.ts";
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
} from "#kit/cluster-tls.ts";
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
} from "#kit/cluster-turn.ts";
import { promised } from "#kit/guard-promises.ts";

/** The same of a member that goes on speaking TLS as it does. */
function givingAll(snapshot: ClusterSnapshot, name: string): ClusterStep {
  const { tls } = peerOf(snapshot, name).spec;
  const live = peerOf(snapshot, name);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, version: NEWER.version, tls: tls! }, OLD) };
}

/** Members show each other what somebody else has signed. */
const doubted = withMade(certified, { peer: { by: NEXT } });

const theirPeer = tlsSpec({ peer: { provider: "Secret", secret: { secretName: "their-peer" } } });

const doubtedElsewhere = withMade(asking(certified, { tls: theirPeer }), { peer: { by: NEXT } });

const unshown = withSeen(certified, { peer: { is: "absent" } });

const unserved = withSeen(certified, { server: { is: "absent" } });

const unservedHalf = withMade(certified, { server: { trouble: "it has no tls.key" } });

const doubtedByClients = withMade(certified, { server: { by: NEXT } });

const halved = withMade(certified, { peer: { trouble: "it has no tls.key" } });

const justMade = withMade(certified, { peer: { knownForMs: 149_999 } });

const longMade = withMade(certified, { peer: { knownForMs: 150_000 } });

const doubtedDown = withMade(secured({ down: ["my-etcd-2"] }), { peer: { by: NEXT } });

const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };

const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: { provider: "Secret", secret },
};

const brought = secured({}, BROUGHT, { isOurs: false });

const bring = unissued({ stage: "recorded" }, BROUGHT);

const broughtFirst = withMade(bring, { peer: { isOurs: false }, server: { isOurs: false } });

const withheldFirst = withMade(broughtFirst, { peer: { isOurs: false, mayBeShown: false } });

/** The first member gets what somebody else has brought, in these Secrets. */
function broughtIn(secretName = "their-peer"): ClusterStep {
  const { peer, client } = memberTls(broughtFirst)!;
  return bornSpeaking(certified, { client: client!, peer: { ...peer!, secretName } });
}

/** Its EtcdPeer says the new one, and its pod shows the former one. */
const aboutToTurn = { ...lastTurns, pods: turnedTrusting.pods };

/** All of them show what is neither asked for nor on record. */
const turnedAway = running(turnedTrusting, undefined, shows("second-peer", ofBoth));

/** What is on record somebody else has brought, and the operator is to issue. */
function broughtBefore(given: { mayBeShown?: boolean }): ClusterSnapshot {
  const made = withMade(asking(turnedAway, { tls: theirPeer }), { peer: { by: SOMEBODY, isOurs: false, ...given } });
  const { certificates, cluster } = made;
  const issuedBy = { peer: { provider: "Secret" as const, secret: { secretName: "their-peer" } } };
  const status = { ...cluster.status, issuedBy };
  const former = { peer: certificates?.peer } as NonNullable<ClusterSnapshot["certificates"]>["former"];
  const asked = asking({ ...made, cluster: { ...cluster, status } }, { tls: tlsSpec() });
  return { ...asked, certificates: { ...certificates, former } as ClusterSnapshot["certificates"] };
}

/** Nobody has TLS any more, and Secrets of the operator's own are taken for what somebody else brings: no status tells who issues. */
function ownNamed(given: { isOurs?: boolean }): ClusterSnapshot {
  const own = { serverSecretName: "my-etcd-server-tls", operatorClientSecretName: "my-etcd-operator-tls" };
  const tls = {
    peer: { provider: "Secret", secret: { secretName: "my-etcd-peer-tls" } },
    client: { provider: "Secret", secret: own },
  };
  const all = { ...given, mayBeShown: false };
  return withMade(switching(tls, ["nothing", "nothing", "nothing"]), { peer: all, server: all });
}

/** This is seen of what members show to each other, and is not asked for any more. */
function withFormer(snapshot: ClusterSnapshot, peer: { is: "absent" }): ClusterSnapshot {
  const { certificates } = snapshot;
  return { ...snapshot, certificates: { ...certificates, former: { ...certificates?.former, peer } } };
}

/** Both sides come to show something else, and members believe that only of each other. */
const bothLeaving = running(
  withMade(goingTo(certified, BROUGHT), {
    peer: { by: SOMEBODY, isOurs: false },
    server: { by: SOMEBODY, isOurs: false },
    operator: { by: SOMEBODY, isOurs: false },
  }),
  undefined,
  shows("my-etcd-peer-tls", ofBoth),
);
const clientsHave = (secretName: string, trust: string) => ({ client: { secretName, trust, verifyClients: true } });
const withoutTls = switching({}, ["nothing", "nothing", "nothing"]);
/** The EtcdPeer of the first one has got its certificates, and its pod has not. */
const withTls = { ...switching({}, ["both", "nothing", "nothing"]), pods: withoutTls.pods };
const lastDoubts = running(certified, ["my-etcd-2"], shows("my-etcd-peer-tls", bundle(SOMEBODY)));

promised(guards, {
  "allowed-secrets": [
    { name: "a Secret that is for clusters is mounted", given: broughtFirst, step: broughtIn(), is: "allowed" },
    { name: "one that is not for them is not", given: withheldFirst, step: broughtIn(), is: "forbidden" },
    {
      name: "nor on the side of clients",
      given: withMade(broughtFirst, { server: { isOurs: false, mayBeShown: false } }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "nor one that nobody has looked at",
      given: withSeen(broughtFirst, { peer: { is: "absent" } }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "nor another one than the one that was looked at",
      given: broughtFirst,
      step: broughtIn("others"),
      is: "forbidden",
    },
    {
      name: "nor one in whose place another one was looked at, which was asked for before",
      given: withSeen(broughtFirst, {
        peer: present({ ...made(broughtFirst, "peer", { isOurs: false }), secretName: "before" }),
      }),
      step: broughtIn(),
      is: "forbidden",
    },
    {
      name: "who has it keeps it",
      given: withMade(brought, { peer: { isOurs: false, mayBeShown: false } }),
      step: speaking(brought, peerOf(brought, "my-etcd-0").spec.tls),
      is: "allowed",
    },
    {
      name: "what the operator makes needs no label",
      given: certified,
      step: speaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "what is about no member is for others to judge", given: certified, step: STEPS.issueLeaf, is: "allowed" },
    {
      name: "what the cluster has on record as in use needs none either",
      given: turnedAway,
      step: speaking(turnedAway, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "one that somebody else has brought before does",
      given: broughtBefore({ mayBeShown: false }),
      step: speaking(turnedAway, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "and has it",
      given: broughtBefore({}),
      step: speaking(turnedAway, shows("their-peer", ofBoth)),
      is: "allowed",
    },
    {
      name: "nor does what the operator has filled for the cluster, whoever is taken for who brings it",
      given: ownNamed({ isOurs: true }),
      step: speaking(ownNamed({}), tlsOfAll),
      is: "allowed",
    },
    {
      name: "nor does what the operator makes, whether or not it has looked",
      given: withSeen(switching({}, ["nothing", "nothing", "nothing"]), { peer: { is: "absent" } }),
      step: speaking(ownNamed({}), tlsOfAll),
      is: "allowed",
    },
    {
      name: "but somebody else's of that name does",
      given: ownNamed({ isOurs: false }),
      step: speaking(ownNamed({}), tlsOfAll),
      is: "forbidden",
    },
    {
      name: "what is neither asked for nor on record is not, whoever issues",
      given: certified,
      step: speaking(certified, shows("another", ofBoth)),
      is: "forbidden",
    },
  ],
  "shown-when-trusted": [
    {
      name: "what members show to each other is asked where clients are asked nothing, too",
      given: notAsking(leaving),
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "both sides are asked when both come to show something else",
      given: bothLeaving,
      step: speaking(bothLeaving, { ...shows("their-peer", ofBoth), ...clientsHave("their-server", ofBoth) }),
      is: "forbidden",
    },
    {
      name: "who shows nothing yet is for others to judge",
      given: withSeen(withTls, { peer: { is: "absent" } }),
      step: restarting(withTls, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "and so is who gets its first certificate",
      given: withSeen(withoutTls, { peer: { is: "absent" } }),
      step: speaking(withoutTls, HAS.both),
      is: "allowed",
    },
    {
      name: "and who goes on to show what it shows, of whatever use that is",
      given: halved,
      step: restarting(halved, "my-etcd-0"),
      is: "allowed",
    },
    {
      name: "what all believe may be shown",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "allowed",
    },
    {
      name: "what nobody believes may not",
      given: leaving,
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what one does not",
      given: running(leaving, ["my-etcd-0", "my-etcd-1"], shows("my-etcd-peer-tls", ofBoth)),
      step: speaking(leaving, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what is not there",
      given: withSeen(turnedTrusting, { peer: { is: "absent" } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what nobody has looked at",
      given: turnedTrusting,
      step: speaking(turnedTrusting, shows("another", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what is of no use",
      given: withMade(turnedTrusting, { peer: { by: SOMEBODY, isOurs: false, trouble: "it has no tls.key" } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "nor what has ended",
      given: withMade(turnedTrusting, { peer: { by: SOMEBODY, isOurs: false, lastsMs: 0 } }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "forbidden",
    },
    {
      name: "what is shown already is for others to judge",
      given: leaving,
      step: speaking(leaving, shows("my-etcd-peer-tls", ofBoth)),
      is: "allowed",
    },
    {
      name: "a member restarts with what all believe",
      given: aboutToTurn,
      step: restarting(aboutToTurn, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "not once it holds something else",
      given: withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }),
      step: restarting(withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }), "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who shows the former one goes on with it meanwhile",
      given: withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }),
      step: restarting(withMade(aboutToTurn, { peer: { by: NEXT, isOurs: false } }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "what clients are shown has to be believed as well",
      given: turnedClients,
      step: speaking(turnedClients, clientsOf("their-server", ofBoth)),
      is: "forbidden",
    },
    {
      name: "and is shown once it is",
      given: clientsTrusting,
      step: speaking(clientsTrusting, clientsOf("their-server", ofBoth)),
      is: "allowed",
    },
    {
      name: "where clients show nothing members ask for nothing",
      given: notAsking(turnedClients),
      step: speaking(turnedClients, clientsOf("their-server", ofBoth)),
      is: "allowed",
    },
    { name: "what shows nothing is for others to judge", given: leaving, step: STEPS.markRemoval, is: "allowed" },
  ],
  "still-believed": [
    {
      name: "nobody restarts while a single member does not believe what the others show",
      given: lastDoubts,
      step: restarting(lastDoubts, "my-etcd-0"),
      is: "forbidden",
    },
    {
      name: "what is in use counts, also when something else is asked for",
      given: withFormer(turnedTrusting, { is: "absent" }),
      step: restarting(turnedTrusting, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who comes to show something else needs it no more",
      given: withFormer(aboutToTurn, { is: "absent" }),
      step: restarting(aboutToTurn, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "and may be given that",
      given: withFormer(turnedTrusting, { is: "absent" }),
      step: speaking(turnedTrusting, shows("their-peer", ofBoth)),
      is: "allowed",
    },
    {
      name: "who shows it still does not restart",
      given: withFormer(aboutToTurn, { is: "absent" }),
      step: restarting(aboutToTurn, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "what nobody shows yet is no matter",
      given: doubtedElsewhere,
      step: restarting(doubtedElsewhere, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member restarts while all believe each other",
      given: certified,
      step: restarting(certified, "my-etcd-2"),
      is: "allowed",
    },
    { name: "not while they do not", given: doubted, step: restarting(doubted, "my-etcd-2"), is: "forbidden" },
    { name: "nor gets what it would restart for", given: doubted, step: giving(doubted, "my-etcd-2"), is: "forbidden" },
    {
      name: "whose pod runs nothing may have it made anew",
      given: withCrashing(doubtedDown, "my-etcd-2"),
      step: restarting(withCrashing(doubtedDown, "my-etcd-2"), "my-etcd-2"),
      is: "allowed",
    },
    { name: "nobody is given up", given: doubted, step: STEPS.markRemoval, is: "forbidden" },
    { name: "but while all believe each other", given: certified, step: STEPS.markRemoval, is: "allowed" },
    {
      name: "who is not wanted may go",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "and a removal be taken back",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    { name: "what restarts nobody is for others to judge", given: doubted, step: STEPS.createService, is: "allowed" },
    {
      name: "so is all, where nobody could look",
      given: withSeen(doubted, { peer: { is: "unknown", why: "no answer" } }),
      step: restarting(doubted, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody restarts without what members show",
      given: unshown,
      step: restarting(unshown, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "nor without what they show to clients",
      given: unserved,
      step: restarting(unserved, "my-etcd-2"),
      is: "forbidden",
    },
    { name: "nor is one to", given: unserved, step: givingAll(unserved, "my-etcd-2"), is: "forbidden" },
    {
      name: "what a member showed to clients before is no matter",
      given: unserved,
      step: giving(unserved, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nor with what clients are shown, and is of no use",
      given: unservedHalf,
      step: restarting(unservedHalf, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "nor with what it would not believe itself",
      given: doubtedByClients,
      step: restarting(doubtedByClients, "my-etcd-2"),
      is: "forbidden",
    },
    { name: "for which nobody is kept", given: unservedHalf, step: STEPS.markRemoval, is: "allowed" },
    {
      name: "but with what it comes to believe by that",
      given: doubtedByClients,
      step: speaking(doubtedByClients, clientsOf("my-etcd-server-tls", bundle(NEXT, OWN))),
      is: "allowed",
    },
    { name: "nobody is given up for it, nor kept", given: unserved, step: STEPS.markRemoval, is: "allowed" },
    {
      name: "a member may restart where nobody could look at what it shows to clients",
      given: withSeen(certified, { server: { is: "unknown", why: "no answer" } }),
      step: restarting(certified, "my-etcd-2"),
      is: "allowed",
    },
    { name: "nor with what is of no use", given: halved, step: restarting(halved, "my-etcd-2"), is: "forbidden" },
    { name: "who is lost meanwhile is given up", given: unshown, step: STEPS.markRemoval, is: "allowed" },
    { name: "but not while it is of no use: that may be why", given: halved, step: STEPS.markRemoval, is: "forbidden" },
    { name: "nor who may not have yet what is new", given: justMade, step: STEPS.markRemoval, is: "forbidden" },
    { name: "who had the time to get it is", given: longMade, step: STEPS.markRemoval, is: "allowed" },
    { name: "a restart needs no such time", given: justMade, step: restarting(justMade, "my-etcd-2"), is: "allowed" },
  ],
});

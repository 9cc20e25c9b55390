import { CLIENT_TRUST_ANNOTATION, ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { memberTls } from "#cluster/certificates.ts";
import { certificateStatus } from "#cluster/conditions/tls-ready.ts";
import { certificateRequest, trustMap } from "#cluster/desired/certificates.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import { boundTo } from "#kit/bindings.ts";
import { DAY_MS } from "#kit/certificates.ts";
import { born, cluster, NOW, sickFor, withBudget, withoutMember } from "#kit/cluster.ts";
import { stranger, withIntent, withMember, withoutPeers } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";
import { NEWER } from "#kit/cluster-rolling.ts";
import { switching, WITHOUT } from "#kit/cluster-switch.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  running,
  secured,
  started,
  THEIRS,
  tlsSpec,
  unissued,
  withMade,
  withSeen,
} from "#kit/cluster-tls.ts";
import { seenToo } from "#kit/cluster-turn.ts";
import type { Certificate } from "#kube/kinds.ts";

// Where certificates come from, and how they are followed by others.

const settled = secured();
const { headlessService } = cluster();
/** The identity is on record, and nobody is there yet. */
const first = unissued({ stage: "recorded", with: { headlessService } });
const withAuthorities = withMade(first, { peerCA: {}, clientCA: {} });
const withPeerPair = withMade(withAuthorities, { peer: {} });
const withServer = withMade(withPeerPair, { server: {} });
const withAll = withMade(withServer, { operator: {}, application: {} });

const SECRETS_OF = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
  },
};
const brought = secured({}, SECRETS_OF, { isOurs: false, by: THEIRS });
const bring = unissued({ stage: "recorded", with: { headlessService } }, SECRETS_OF);
const broughtFirst = withMade(bring, { peer: { isOurs: false }, server: { isOurs: false } });

const told = { ...broughtFirst, certificates: { ...broughtFirst.certificates, trustMap: unknown("no answer") } };
const certManager = { issuerRef: { name: "my-issuer" } };
const BY_MANAGER = {
  peer: { provider: "CertManager", certManager },
  client: { provider: "CertManager", certManager },
};
const ask = unissued({ stage: "recorded", with: { headlessService } }, BY_MANAGER);

function requested(snapshot: ClusterSnapshot, live: (request: Certificate) => Certificate = (each) => each) {
  const purposes: readonly LeafPurpose[] = ["peer", "server", "operator", "application"];
  const all = purposes.map((purpose) => [purpose, present(live(born(certificateRequest(snapshot, purpose))))]);
  return { ...snapshot, certificates: { ...snapshot.certificates, requests: Object.fromEntries(all) } };
}

/** The names of these members alone. */
function hosts(...ordinals: readonly number[]): readonly string[] {
  return ordinals.map((ordinal) => `my-etcd-${ordinal}.my-etcd.foo.svc`);
}

/** Five members are asked for, and another Secret. @param next what that holds @param names for whom that is good which three of them show */
function turningTo(next: object, names: readonly string[] = hosts(0, 1, 2)): ClusterSnapshot {
  const three = withMade(brought, { peer: { isOurs: false, by: THEIRS, names } });
  const other = { ...SECRETS_OF, peer: { provider: "Secret", secret: { secretName: "their-next" } } };
  const turned = withMade(goingTo(three, other), { peer: { isOurs: false, names: ["*.my-etcd.foo.svc"], ...next } });
  return wanting({ ...turned, certificates: { ...turned.certificates, requests: {} } }, 5);
}

function withoutTls(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { tls: _, ...spec } = snapshot.cluster.spec;
  return { ...snapshot, cluster: { ...snapshot.cluster, spec } };
}

/** So many members are asked for. */
function wanting(snapshot: ClusterSnapshot, replicas: number): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, replicas } } };
}

/** cert-manager's kind is served, and nothing is asked for. */
function requests(snapshot: ClusterSnapshot): ClusterSnapshot {
  const none = { peer: absent, server: absent, operator: absent, application: absent };
  return { ...snapshot, certificates: { ...snapshot.certificates, requests: none } };
}

/** Of the names of what is asked for there are Secrets with certificates, of nobody who is known. */
const foreign = { isOurs: false, by: THEIRS, certificateName: undefined };
const foreignPairs = { peer: foreign, server: foreign, operator: foreign, application: foreign };

const issuing = secured({}, BY_MANAGER, { isOurs: false, by: THEIRS });

/** What applications have of it. */
const handed: SeenCertificate = {
  ...made(issuing, "application", { by: THEIRS, certificateName: undefined }),
  secretName: "my-etcd-client",
};

function withHandout(snapshot: ClusterSnapshot, handout: Observed<SeenCertificate>): ClusterSnapshot {
  return { ...requested(snapshot), certificates: { ...requested(snapshot).certificates, handout } };
}

/** The issuer of clients has another key: cert-manager has renewed by it what applications are to show, which no member believes. */
function doubted(snapshot: ClusterSnapshot, server: object = {}): ClusterSnapshot {
  const given = withMade(snapshot, {
    application: { isOurs: false, by: NEXT },
    server: { isOurs: false, by: THEIRS, ...server },
  });
  return withHandout(given, present(handed));
}

/** The same, and all that members show to clients has followed, while one of them is lost. */
const doubtedAll = doubted(lostFor(secured({ down: ["my-etcd-1"] }, BY_MANAGER, { isOurs: false, by: THEIRS })), {
  by: NEXT,
});
const toldOfNext = seenToo(doubtedAll, { handout: present({ ...handed, trustIds: [THEIRS.id, NEXT.id] }) });
const toldAllOfNext = seenToo(toldOfNext, { trustMap: present(born(trustMap(toldOfNext, bundle(THEIRS, NEXT)))) });

function lostFor(snapshot: ClusterSnapshot): ClusterSnapshot {
  return sickFor(snapshot, "my-etcd-1", 300_000);
}

/** One member's EtcdPeer was deleted, and its pod runs on; it believes nobody but whom it knows. */
function orphaned(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withoutPeers(snapshot, "my-etcd-1");
}

/** On the way to what people bring, of which the half is there: the operator would have nothing to show. */
const halfBrought = withMade(withHandout(goingTo(issuing, { ...SECRETS_OF, peer: BY_MANAGER.peer }), present(handed)), {
  server: { isOurs: false, by: NEXT },
});

/** On the way from the operator's own for clients to what people bring, of which all have heard, one member shows that. */
const secondShown = running(running(toldOfBoth()), ["my-etcd-2"]);
/** Half way something else is asked for, of which nothing is there. */
const thirdAsked = withSeen(asksFor(secondShown, "third-server"), { server: absent, operator: absent });

/** What people are to bring for clients was there, so that clients were told of both, and is gone before any member trusted it. */
const goneAgain = withSeen(goingTo(settled, { client: SECRETS_OF.client }), { server: absent, operator: absent });
const toldMap = trustMap(goneAgain, bundle(OWN, THEIRS));

function toldOfBoth(): ClusterSnapshot {
  const theirs = { isOurs: false, by: THEIRS };
  const turned = withMade(goingTo(settled, { client: SECRETS_OF.client }), { server: theirs, operator: theirs });
  const trust = bundle(OWN, THEIRS);
  const [application, operator] = (["application", "operator"] as const).map((each) =>
    present(made(settled, each, { trust })),
  );
  const { certificates } = turned;
  const former = { ...certificates?.former, application: application!, operator: operator! };
  const map = present(born(trustMap(turned, trust)));
  const seen = {
    ...certificates,
    former,
    handout: application!,
    trustMap: map,
    trustMapForMs: 3_600_000,
    requests: {},
  };
  return { ...turned, certificates: seen };
}

/** On the way to what people bring, while the authority that has signed what is in use is lost; nobody has been told yet. */
function unsigned(all: { readonly [purpose in LeafPurpose]?: Parameters<typeof made>[2] }): ClusterSnapshot {
  const { certificates, ...turned } = toldOfBoth();
  const { former, handout: _, ...seen } = certificates ?? {};
  const leaves = (["server", "operator", "application"] as const).map((each) => [
    each,
    present(made(settled, each, all[each])),
  ]);
  return {
    ...turned,
    certificates: { ...seen, former: { ...former, clientCA: absent, ...Object.fromEntries(leaves) } },
  };
}

function asksFor(snapshot: ClusterSnapshot, serverSecretName: string): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const secret = { serverSecretName, operatorClientSecretName: "third-operator" };
  const tls = tlsSpec({ client: { provider: "Secret", secret } });
  return { ...snapshot, cluster: { ...live, spec: { ...live.spec, tls } } };
}

function trustOf({ certificates }: ClusterSnapshot) {
  const found = certificates?.trustMap;
  if (found?.is !== "present") throw new Error("it has one");
  return found.value;
}

/** The same with another time. */
function at(snapshot: ClusterSnapshot, takenAtMs: number): ClusterSnapshot {
  return { ...snapshot, takenAtMs };
}

function annotated(snapshot: ClusterSnapshot, value: string): ClusterSnapshot {
  const { metadata } = snapshot.cluster;
  const annotations = { ...metadata.annotations, [ROTATE_CA_ANNOTATION]: value };
  return { ...snapshot, cluster: { ...snapshot.cluster, metadata: { ...metadata, annotations } } };
}

const both = bundle(OWN, NEXT);
/** The next authority is made; nobody has heard of it. */
const added = withMade(annotated(settled, "peer"), { peerCA: { next: NEXT, rotatedFor: "peer" } });
/** Everybody's Secret tells of it. */
const spread = withMade(added, { peer: { trust: both } });
const trusting = running(spread);
const switched = withMade(trusting, { peerCA: { by: NEXT, trust: bundle(NEXT, OWN), rotatedFor: "peer" } });
/** What members show is made anew; whoever runs may have what was there before. */
const signed = withMade(switched, { peer: { by: NEXT, trust: bundle(NEXT, OWN) } });
const replaced = running(signed);
const alone = withMade(replaced, {
  peerCA: { by: NEXT, trust: bundle(NEXT), rotatedFor: "peer" },
  peer: { by: NEXT, trust: bundle(NEXT) },
});

/** Somebody has taken spec.tls away; the status knows of the Secrets. */
function taken(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const { tls: _, ...spec } = live.spec;
  return { ...snapshot, cluster: { ...live, spec, status: { ...live.status, ...certificateStatus(snapshot) } } };
}

/** Pods that trust somebody on the side of members alone. */
function trustingPeers({ pods }: ClusterSnapshot): ClusterSnapshot["pods"] {
  return new Map(
    [...pods].map(([name, pod]) => {
      const { [CLIENT_TRUST_ANNOTATION]: _, ...annotations } = pod.metadata.annotations ?? {};
      return [name, { ...pod, metadata: { ...pod.metadata, annotations } }];
    }),
  );
}

const lostAuthority = withSeen(settled, { peerCA: absent });
/** Another one has been made in its place. */
const remade = withMade(settled, { peerCA: { by: NEXT, trust: bundle(NEXT, OWN) } });
const remadeSpread = withMade(remade, { peer: { trust: bundle(NEXT, OWN) } });

/** A person has put another pair into the authority's Secret, alone; what members show is signed by the one before. */
const putAlone = withMade(settled, { peerCA: { by: NEXT } });
const putAloneClients = withMade(settled, { clientCA: { by: NEXT } });
/** Whom it says to trust somebody has edited. */
const edited = { peer: { trust: bundle(THEIRS) } };

/** The authority of clients was lost, and another one is made by now; everybody has heard of it. */
const remadeClients = running(
  withMade(
    { ...settled, certificates: { ...settled.certificates, trustMap: unknown("no answer") } },
    {
      clientCA: { by: NEXT, trust: bundle(NEXT, OWN) },
      server: { trust: both },
      operator: { trust: both },
      application: { trust: both },
    },
  ),
);

/** All but the binding of an EtcdUser is ready for the next authority to sign. */
const LEAVES = { server: { trust: both }, operator: { trust: both }, application: { trust: both } };
const heldUp = seenToo(running(withMade(settled, { clientCA: { next: NEXT }, ...LEAVES })), {
  trustMap: unknown("no answer"),
  bindings: [boundTo()],
});

testPlans("certificates", [
  { name: "a cluster with all its certificates has nothing to do", given: settled, expect: "settled" },
  {
    name: "one whose Secrets may be read no more goes on, and tells so",
    given: seenToo(settled, {
      refused: 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"',
    }),
    expect: "settled",
  },
  { name: "makes the authority of members first", given: first, expect: "authority: issueAuthority peer" },
  {
    name: "then that of clients",
    given: withMade(first, { peerCA: {} }),
    expect: "authority: issueAuthority client",
  },
  { name: "then what members show to each other", given: withAuthorities, expect: "leaf: issueLeaf peer" },
  { name: "then what they show to clients", given: withPeerPair, expect: "leaf: issueLeaf server" },
  { name: "then what the operator shows", given: withServer, expect: "leaf: issueLeaf operator" },
  {
    name: "then what applications show",
    given: withMade(withServer, { operator: {} }),
    expect: "leaf: issueLeaf application",
  },
  { name: "tells clients whom to trust", given: withAll, expect: "trust-map: createTrustMap" },
  {
    name: "makes no member while a Secret could not be read",
    given: withSeen(first, { peerCA: unknown("no answer"), clientCA: unknown("no answer") }),
    expect: "wait: await-certificates",
  },
  {
    name: "nor before anybody has looked",
    given: { ...first, certificates: undefined },
    expect: "wait: await-certificates",
  },
  {
    name: "makes members once what they show is there",
    given: { ...withAll, certificates: { ...withAll.certificates, trustMap: unknown("no answer") } },
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "what one side gets from somebody else the operator makes for the other one",
    given: unissued({ stage: "recorded", with: { headlessService } }, { client: SECRETS_OF.client }),
    expect: "authority: issueAuthority peer",
  },
  {
    name: "and the other way round",
    given: unissued({ stage: "recorded", with: { headlessService } }, { peer: SECRETS_OF.peer }),
    expect: "authority: issueAuthority client",
  },
  {
    name: "waits for what cert-manager has yet to be asked for",
    given: { ...ask, certificates: { ...ask.certificates, requests: { peer: unknown("no answer") } } },
    expect: "wait: await-certificates",
  },
  { name: "waits while nobody has looked for it", given: ask, expect: "wait: await-certificates" },
  { name: "waits for Secrets that somebody else fills, and tells", given: bring, expect: "warn: await-certificates" },
  {
    name: "and while they are not for EtcdClusters",
    given: withMade(told, { peer: { isOurs: false, mayBeShown: false } }),
    expect: "warn: await-certificates",
  },
  {
    name: "on the side of clients as well",
    given: withMade(told, { server: { isOurs: false, mayBeShown: false } }),
    expect: "warn: await-certificates",
  },
  {
    name: "takes nothing away when the label is",
    given: withMade(brought, {
      peer: { isOurs: false, by: THEIRS, mayBeShown: false },
      server: { isOurs: false, by: THEIRS, mayBeShown: false },
      operator: { isOurs: false, by: THEIRS, mayBeShown: false },
    }),
    expect: "settled",
  },
  {
    name: "makes members once those are there",
    given: { ...broughtFirst, certificates: { ...broughtFirst.certificates, trustMap: unknown("no answer") } },
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  { name: "leaves alone what somebody else fills", given: brought, expect: "settled" },
  {
    name: "also when it is of no use, or gone",
    given: withMade(withSeen(brought, { peer: absent }), {
      server: { isOurs: false, by: THEIRS, trouble: "its tls.key is not the key of its tls.crt" },
    }),
    expect: "settled",
  },
  {
    name: "also when it has ended, of which people hear",
    given: at(brought, NOW + 81 * DAY_MS),
    expect: "settled",
  },
  {
    name: "asks cert-manager for certificates",
    given: { ...ask, certificates: { ...ask.certificates, requests: { peer: absent } } },
    expect: "certificate-request: createRequest peer",
  },
  {
    name: "waits for them",
    given: requested(ask),
    expect: "wait: await-certificates",
  },
  {
    name: "and where nobody knows the kind",
    given: { ...ask, certificates: { ...ask.certificates, requests: { peer: { is: "notServed" } } } },
    expect: "warn: await-certificates",
  },
  { name: "has nothing to do once they are there", given: requested(issuing), expect: "settled" },
  {
    name: "puts right what somebody has edited in what it asks for",
    given: requested(issuing, (each) => ({ ...each, spec: { ...each.spec!, dnsNames: ["other"] } })),
    expect: "certificate-request: replaceRequest peer",
  },
  {
    name: "asks for what is to be in Secrets of other names than what members show by now",
    given: goingTo(settled, BY_MANAGER),
    expect: "certificate-request: createRequest peer",
  },
  {
    name: "gives applications what cert-manager has issued for them",
    given: withHandout(issuing, absent),
    expect: "hand-out: handOut",
  },
  {
    name: "gives it again once it is renewed",
    given: withHandout(issuing, present({ ...handed, fingerprint: "earlier" })),
    expect: "hand-out: handOut",
  },
  {
    name: "and once somebody has changed whom it says to trust",
    given: withHandout(issuing, present({ ...handed, trustIds: [OWN.id] })),
    expect: "hand-out: handOut",
  },
  {
    name: "or taken its key away",
    given: withHandout(issuing, present({ ...handed, trouble: "it has no tls.key" })),
    expect: "hand-out: handOut",
  },
  {
    name: "but not what no member believes, which holds up no healing",
    given: doubted(lostFor(secured({ down: ["my-etcd-1"] }, BY_MANAGER, { isOurs: false, by: THEIRS }))),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "unless what they have has ended",
    given: withHandout(
      doubted(secured({}, BY_MANAGER, { isOurs: false, by: THEIRS })),
      present({ ...handed, notAfterMs: NOW }),
    ),
    expect: "hand-out: handOut",
  },
  {
    name: "or is of no use",
    given: withHandout(
      doubted(secured({}, BY_MANAGER, { isOurs: false, by: THEIRS })),
      present({ ...handed, trouble: "it has no tls.key" }),
    ),
    expect: "hand-out: handOut",
  },
  {
    name: "nor an EtcdPeer that is gone",
    given: doubted(orphaned(issuing)),
    expect: "restore-peer: createPeer my-etcd-1 fenced",
  },
  {
    name: "and they are told, with the pair that they have, who has signed what members show by then",
    given: doubtedAll,
    expect: "hand-out: handOut",
  },
  { name: "as is everybody else", given: toldOfNext, expect: "trust-map: replaceTrustMap" },
  { name: "and once they are told", given: toldAllOfNext, expect: "renew-stopped: replacePeer my-etcd-1 fenced" },
  { name: "and no more than once", given: withHandout(issuing, present(handed)), expect: "settled" },
  {
    name: "tells applications of nobody else while half of what members are to show is there",
    given: halfBrought,
    expect: "settled",
  },
  {
    name: "nor clients of nobody but those of today, once they were told of both",
    given: {
      ...goneAgain,
      certificates: { ...goneAgain.certificates, trustMap: present(born(toldMap)), requests: {} },
    },
    expect: "settled",
  },
  {
    name: "nor of fewer while some of them show it already",
    given: thirdAsked,
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "and says by whom all of them are known, where that is lost",
    given: { ...thirdAsked, certificates: { ...thirdAsked.certificates, trustMap: absent } },
    expect: "trust-map: createTrustMap",
  },
  {
    name: "tells of whom to trust besides without the authority that has signed, where that is lost",
    given: unsigned({}),
    expect: "leaf: spreadTrust operator",
  },
  {
    name: "to all that are the operator's own",
    given: unsigned({ operator: { trust: bundle(OWN, THEIRS) } }),
    expect: "leaf: spreadTrust application",
  },
  {
    name: "and once",
    given: unsigned({ operator: { trust: bundle(OWN, THEIRS) }, application: { trust: bundle(OWN, THEIRS) } }),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "not to what is somebody else's, or of no use",
    given: unsigned({ operator: { isOurs: false }, application: { trouble: "it has no tls.key" } }),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "does not write over what is somebody else's",
    given: withHandout(issuing, present({ ...handed, ownerUid: undefined, fingerprint: "theirs" })),
    expect: "settled",
  },
  {
    name: "gives away nothing that is of no use",
    given: withHandout(
      withMade(issuing, { application: { isOurs: false, by: THEIRS, trouble: "it has no tls.key" } }),
      present({ ...handed, fingerprint: "earlier" }),
    ),
    expect: "settled",
  },
  {
    name: "takes nobody's over",
    given: requested(issuing, (each) => ({ ...each, metadata: { ...each.metadata, ownerReferences: [] } })),
    expect: "settled",
  },
  {
    name: "renews nothing a moment too early",
    given: at(settled, NOW + 50 * DAY_MS - 1),
    expect: "settled",
  },
  {
    name: "renews for members that do not say whom they trust, what the same authority has signed",
    given: at({ ...settled, pods: cluster().pods }, NOW + 50 * DAY_MS),
    expect: "leaf: issueLeaf peer",
  },
  {
    name: "changes what the spec changes from the moment on at which the authority begins",
    given: at(withMade(settled, { peer: { madeFor: "else" } }), NOW - 100 * DAY_MS),
    expect: "leaf: issueLeaf peer",
  },
  {
    name: "takes back whom somebody has added to those who are trusted",
    given: withMade(settled, { peer: { trust: bundle(OWN, THEIRS) } }),
    expect: "leaf: spreadTrust peer",
  },
  {
    name: "in whatever order",
    given: withMade(settled, { peerCA: { next: NEXT }, peer: { trust: bundle(NEXT, OWN), knownForMs: 0 } }),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "and puts back whom somebody has taken away",
    given: withMade(settled, { clientCA: { next: NEXT }, server: { trust: bundle(NEXT), by: NEXT } }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "renews a certificate when a third of its life is left",
    given: at(settled, NOW + 50 * DAY_MS),
    expect: "leaf: issueLeaf peer",
  },
  {
    name: "or as people say",
    given: withMade(secured({}, { client: { duration: "24h", renewBefore: "1h" } }, { lastsMs: 7_200_000 }), {
      server: { lastsMs: 3_600_000 },
      peer: {},
    }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "renews while nobody could be asked",
    given: at({ ...settled, members: unknown("no quorum") }, NOW + 50 * DAY_MS),
    expect: "leaf: issueLeaf peer",
  },
  {
    name: "does not renew what would not last longer",
    given: secured({}, { peer: { duration: "87600h", renewBefore: "43800h" } }, { lastsMs: 300 * DAY_MS }),
    expect: "rotate-authority: rotateAuthority peer add",
  },
  {
    name: "changes nothing while the clock says that the authority is not there yet",
    given: at(withMade(settled, { peer: { madeFor: "else" } }), NOW - 101 * DAY_MS),
    expect: "settled",
  },
  {
    name: "renews what members show also once spec.tls is taken away from them",
    given: at(taken(settled), NOW + 50 * DAY_MS),
    expect: "leaf: issueLeaf peer",
  },
  {
    name: "and what the operator connects with",
    given: taken(withMade(settled, { operator: { lastsMs: DAY_MS } })),
    expect: "leaf: issueLeaf operator",
  },
  {
    name: "and makes neither an authority nor anything else for those whose certificates come from elsewhere",
    given: at(taken(withMade(issuing, { peer: { isOurs: false, lastsMs: DAY_MS } })), NOW + 70 * DAY_MS),
    expect: "settled",
  },
  {
    name: "drops no authority meanwhile before its time",
    given: taken(signed),
    expect: "settled",
  },
  {
    name: "asks cert-manager for nothing that it would write over somebody else's Secret",
    given: withMade(requests(ask), foreignPairs),
    expect: "warn: await-certificates",
  },
  {
    name: "but for what cert-manager has filled before it asks again",
    given: withMade(requests(ask), { ...foreignPairs, peer: { isOurs: false, by: THEIRS } }),
    expect: "certificate-request: createRequest peer",
  },
  {
    name: "what it has asked for already it asks for as it should be",
    given: withMade(
      requested(ask, (request) => ({ ...request, spec: { ...request.spec!, secretName: "another" } })),
      foreignPairs,
    ),
    expect: "certificate-request: replaceRequest peer",
  },
  {
    name: "makes no member of what the operator is to make and somebody else has",
    given: {
      ...withAll,
      certificates: { ...withMade(withAll, { peer: { isOurs: false } }).certificates, trustMap: unknown("no answer") },
    },
    expect: "warn: await-certificates",
  },
  {
    name: "makes no member of what is not cert-manager's",
    given: withMade(requested(ask), foreignPairs),
    expect: "warn: await-certificates",
  },
  {
    name: "and asks as before for what cert-manager fills",
    given: {
      ...issuing,
      certificates: {
        ...issuing.certificates,
        requests: { ...requested(issuing).certificates.requests, peer: absent },
      },
    },
    expect: "certificate-request: createRequest peer",
  },
  {
    name: "makes no first member for which what somebody brings is not good",
    given: withMade(told, { peer: { isOurs: false, names: hosts(0, 1) } }),
    expect: "warn: bootstrap",
  },
  {
    name: "nor when that is so only of what clients are shown",
    given: withMade(told, { server: { isOurs: false, names: hosts(0, 1) } }),
    expect: "warn: bootstrap",
  },
  {
    name: "makes those that there are to be, by their names",
    given: withMade(told, {
      peer: { isOurs: false, names: hosts(0, 1, 2) },
      server: { isOurs: false, names: hosts(0, 1, 2) },
    }),
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "adds no member for which it is not good, and goes on with all else",
    given: wanting(withMade(brought, { peer: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2) } }), 5),
    expect: "settled",
  },
  {
    name: "nor asks etcd for one that was to be, whose intent goes: the others wait for nobody who does not start",
    given: running(
      withIntent(wanting(withMade(brought, { server: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2) } }), 5)),
    ),
    expect: "scale-up: deletePeer my-etcd-3",
  },
  {
    name: "adds nobody for whom what all of them show is not good, though what they are to show is",
    given: turningTo({ by: THEIRS }),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "nor while they have yet to trust who has signed that",
    given: turningTo({ by: OWN }),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "nor with what they have kept when spec.tls was taken away",
    given: wanting(withoutTls(withMade(brought, { peer: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2) } })), 5),
    expect: "settled",
  },
  {
    name: "and adds who gets what is good, though what they are to show is not",
    given: turningTo({ by: THEIRS, names: hosts(0, 1, 2) }, ["*.my-etcd.foo.svc"]),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "adds nobody whom the others would not believe",
    given: wanting(withMade(brought, { peer: { isOurs: false, by: OWN } }), 5),
    expect: "settled",
  },
  {
    name: "nor anybody with what is of no use",
    given: wanting(
      withMade(brought, { peer: { isOurs: false, by: THEIRS, trouble: "its tls.key is not the key of its tls.crt" } }),
      5,
    ),
    expect: "settled",
  },
  {
    name: "nor with what is not there",
    given: wanting(withSeen(brought, { peer: absent }), 5),
    expect: "settled",
  },
  {
    name: "adds the one for which it is good, though it is not for those that come after it",
    given: wanting(withMade(brought, { peer: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2, 3) } }), 5),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "makes a Secret anew that somebody has deleted",
    given: withSeen(settled, { server: absent }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "and one that is half a pair",
    given: withMade(settled, { application: { trouble: "it has no tls.key" } }),
    expect: "leaf: issueLeaf application",
  },
  {
    name: "and one with the key of another one",
    given: withMade(settled, { operator: { trouble: "its tls.key is not the key of its tls.crt" } }),
    expect: "leaf: issueLeaf operator",
  },
  {
    name: "and one that another authority has signed",
    given: withMade(settled, { peer: { by: THEIRS, trust: bundle(THEIRS) } }),
    expect: "leaf: issueLeaf peer",
  },
  {
    name: "and one that is not good for members",
    given: withMade(settled, { server: { names: ["localhost"] } }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "and one that is not good for clients",
    given: withMade(settled, { operator: { usages: ["serverAuth"] } }),
    expect: "leaf: issueLeaf operator",
  },
  {
    name: "gives it the names that people ask for by now",
    given: withMade(settled, { server: { madeFor: "else" } }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "writes nobody else's Secret",
    given: withMade(settled, { server: { isOurs: false, trouble: "it has no tls.key" } }),
    expect: "settled",
  },
  {
    name: "nor one whose owner was another cluster of the name",
    given: withMade(settled, { clientCA: { isOurs: false } }),
    expect: "settled",
  },
  {
    name: "touches nothing that could not be read",
    given: withSeen(settled, { peer: unknown("no") }),
    expect: "settled",
  },
  {
    name: "leaves an authority that cannot sign to people, and nobody restarts",
    given: withMade(settled, { peerCA: { trouble: "its tls.key is not the key of its tls.crt" } }),
    expect: "settled",
  },
  {
    name: "puts right whom clients are told to trust",
    given: {
      ...settled,
      certificates: {
        ...settled.certificates,
        trustMap: present({ ...trustOf(settled), data: { "ca.crt": "" } }),
      },
    },
    expect: "trust-map: replaceTrustMap",
  },
  {
    name: "but nobody else's ConfigMap",
    given: {
      ...settled,
      certificates: {
        ...settled.certificates,
        trustMap: present({
          ...trustOf(settled),
          data: {},
          metadata: { ...trustOf(settled).metadata, ownerReferences: [] },
        }),
      },
    },
    expect: "settled",
  },
  {
    name: "an authority that ends in less than a year is followed by another one",
    given: withMade(settled, { peerCA: { lastsMs: 365 * DAY_MS } }),
    expect: "rotate-authority: rotateAuthority peer add",
  },
  {
    name: "but not one that lasts a moment longer",
    given: withMade(settled, { peerCA: { lastsMs: 365 * DAY_MS + 1 } }),
    expect: "settled",
  },
  {
    name: "and one that people want to be",
    given: annotated(settled, "client"),
    expect: "rotate-authority: rotateAuthority client add",
  },
  { name: "and both", given: annotated(settled, "all"), expect: "rotate-authority: rotateAuthority peer add" },
  {
    name: "but not while the clock says that it is not there yet",
    given: at(annotated(settled, "peer"), NOW - 100 * DAY_MS - 1),
    expect: "settled",
  },
  {
    name: "only from then on",
    given: at(annotated(settled, "peer"), NOW - 100 * DAY_MS),
    expect: "rotate-authority: rotateAuthority peer add",
  },
  { name: "but not for a word that means nothing", given: annotated(settled, "everything"), expect: "settled" },
  {
    name: "while something is amiss, another one is not made",
    given: withMade(annotated(settled, "peer"), { peer: { trouble: "it has no ca.crt", isOurs: false } }),
    expect: "settled",
  },
  { name: "the next one is told to everybody first", given: added, expect: "leaf: spreadTrust peer" },
  { name: "members restart so that they trust it", given: spread, expect: "give-turn: replacePeer my-etcd-2 fenced" },
  {
    name: "it does not sign while one member has yet to restart",
    given: running(spread, ["my-etcd-1", "my-etcd-2"]),
    expect: "give-turn: replacePeer my-etcd-0 fenced",
  },
  {
    name: "nor while a pod was made before",
    given: started({ ...trusting, pods: spread.pods }, ["my-etcd-1", "my-etcd-2"]),
    expect: "wait: restart-member",
  },
  {
    name: "then it signs, however short a while ago the Secret has changed: whom members trust their pods say",
    given: withMade(trusting, { peer: { trust: both, knownForMs: 0 } }),
    expect: "rotate-authority: rotateAuthority peer switch",
  },
  { name: "and everything is made anew by it", given: switched, expect: "leaf: issueLeaf peer" },
  {
    name: "members restart so that they show that, however long ago the Secret has changed",
    given: signed,
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "the one before is trusted while one member has yet to restart",
    given: running(signed, ["my-etcd-1", "my-etcd-2"]),
    expect: "give-turn: replacePeer my-etcd-0 fenced",
  },
  {
    name: "and while a pod was made before the Secret has changed",
    given: started({ ...replaced, pods: signed.pods }, ["my-etcd-1", "my-etcd-2"]),
    expect: "wait: restart-member",
  },
  {
    name: "then it is dropped, however short a while ago that was",
    given: withMade(replaced, { peer: { by: NEXT, trust: bundle(NEXT, OWN), knownForMs: 0 } }),
    expect: "rotate-authority: rotateAuthority peer drop",
  },
  { name: "and members restart once more", given: alone, expect: "give-turn: replacePeer my-etcd-2 fenced" },
  { name: "until it is over", given: running(alone), expect: "settled" },
  {
    name: "what was asked for is not made again for the same words",
    given: withMade(annotated(settled, "all"), { peerCA: { rotatedFor: "all" }, clientCA: { rotatedFor: "all" } }),
    expect: "settled",
  },
  {
    name: "and is for others",
    given: withMade(annotated(settled, "all-2"), { peerCA: { rotatedFor: "all" }, clientCA: { rotatedFor: "all" } }),
    expect: "rotate-authority: rotateAuthority peer add",
  },
  {
    name: "what was asked for can be asked for again once it has been taken away",
    given: withMade(settled, { peerCA: { rotatedFor: "peer" } }),
    expect: "rotate-authority: rotateAuthority peer forget",
  },
  {
    name: "one that is lost is followed by another one",
    given: lostAuthority,
    expect: "authority: issueAuthority peer",
  },
  {
    name: "but not while a pod has outlived its EtcdPeer, which gets that back first",
    given: orphaned(lostAuthority),
    expect: "restore-peer: createPeer my-etcd-1 fenced",
  },
  {
    name: "one that is no member any more gets none back, and is not waited for: on a lost node its pod cannot end",
    given: withoutMember(orphaned(lostAuthority), "my-etcd-1"),
    expect: "authority: issueAuthority peer",
  },
  {
    name: "and that of the other side does not wait for it",
    given: withSeen({ ...orphaned(lostAuthority), pods: trustingPeers(settled) }, { clientCA: absent }),
    expect: "authority: issueAuthority client",
  },
  { name: "which is told to everybody before it signs", given: remade, expect: "leaf: spreadTrust peer" },
  { name: "and trusted by everybody", given: remadeSpread, expect: "give-turn: replacePeer my-etcd-2 fenced" },
  { name: "before it signs", given: running(remadeSpread), expect: "leaf: issueLeaf peer" },
  {
    name: "also when what the one before has signed comes to its end",
    given: withMade(remadeSpread, { peer: { trust: bundle(NEXT, OWN), lastsMs: DAY_MS } }),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "and when that has ended: members would believe nothing else",
    given: withMade(remadeSpread, { peer: { trust: bundle(NEXT, OWN), lastsMs: 0 } }),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "nothing is made by it where nothing is there, as long as members would not believe it",
    given: withSeen(remade, { peer: absent }),
    expect: "settled",
  },
  {
    name: "nor in place of what is of no use",
    given: withMade(remade, { peer: { trouble: "it has no tls.key" } }),
    expect: "settled",
  },
  {
    name: "but whom that says to trust is put right, so that members come to trust both",
    given: withMade(remade, edited),
    expect: "leaf: spreadTrust peer",
  },
  {
    name: "also when somebody has emptied it",
    given: withMade(withMade(remade, edited), { peer: { trust: "", trouble: "it has no ca.crt" } }),
    expect: "leaf: spreadTrust peer",
  },
  {
    name: "once",
    given: withMade(remade, { peer: { by: THEIRS, trust: bundle(NEXT, OWN) } }),
    expect: "settled",
  },
  {
    name: "one that somebody puts in its place alone signs nothing, and nobody is told to trust it",
    given: putAlone,
    expect: "settled",
  },
  { name: "nor towards clients", given: putAloneClients, expect: "settled" },
  {
    name: "nor where whom members trust does not stand in what they show any more",
    given: withMade(putAlone, { peer: { trust: bundle(NEXT) } }),
    expect: "settled",
  },
  {
    name: "nor while all know it, but may show what the one before has signed",
    given: withMade(trusting, { peerCA: { by: NEXT, trust: bundle(NEXT) } }),
    expect: "settled",
  },
  {
    name: "it follows the one before as others do once its Secret names both",
    given: withMade(putAlone, { peerCA: { by: NEXT, trust: bundle(NEXT, OWN) } }),
    expect: "leaf: spreadTrust peer",
  },
  {
    name: "also when what members show has lost whom to trust",
    given: withMade(putAlone, { peerCA: { by: NEXT, trust: both }, peer: { trust: bundle(NEXT) } }),
    expect: "leaf: spreadTrust peer",
  },
  {
    name: "another one is made once it is deleted",
    given: withSeen(putAlone, { peerCA: absent }),
    expect: "authority: issueAuthority peer",
  },
  {
    name: "what some members do not believe is made anew by whom all trust, whoever signed it",
    given: withMade(running(settled, ["my-etcd-1"], memberTls(trusting)), { peer: { by: NEXT } }),
    expect: "leaf: issueLeaf peer",
  },
  {
    name: "one that has ended signs nothing, although all trust it: nobody would believe that",
    given: withMade(trusting, { peerCA: { by: NEXT, trust: both, lastsMs: 0 } }),
    expect: "settled",
  },
  {
    name: "nobody restarts while members show each other what some of them do not trust",
    given: withMade(
      { ...brought, cluster: { ...brought.cluster, spec: { ...brought.cluster.spec, ...NEWER } } },
      { peer: { isOurs: false, by: NEXT } },
    ),
    expect: "warn: still-believed",
  },
  {
    name: "an authority of clients that is lost is known to all of them before it signs",
    given: withMade(remadeClients, { application: { trust: both, knownForMs: 149_999 } }),
    expect: "settled",
  },
  {
    name: "then that of clients signs",
    given: withMade(remadeClients, { application: { trust: both, knownForMs: 150_000 } }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "who cannot be told, since the Secret is somebody else's, is not waited for",
    given: withMade(remadeClients, { application: { isOurs: false, trust: both, knownForMs: 0 } }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "nor is anybody for what is about to end",
    given: withMade(remadeClients, {
      server: { trust: both, lastsMs: 15 * DAY_MS },
      application: { trust: both, knownForMs: 0 },
    }),
    expect: "leaf: issueLeaf server",
  },
  {
    name: "but for what lasts longer",
    given: withMade(remadeClients, {
      server: { trust: both, lastsMs: 16 * DAY_MS },
      application: { trust: both, knownForMs: 0 },
    }),
    expect: "settled",
  },
  {
    name: "for all of them, one after another",
    given: withMade(remadeClients, { server: { by: NEXT, trust: both, knownForMs: 0 } }),
    expect: "leaf: issueLeaf operator",
  },
  {
    name: "members that run without TLS get certificates first",
    given: switching({}, ["nothing", "nothing", "nothing"]),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "whoever has to do without them meanwhile goes on",
    given: withSeen(switching({}, ["nothing", "nothing", "nothing"]), {
      peer: absent,
      server: absent,
      clientCA: absent,
    }),
    expect: "authority: issueAuthority client",
  },
  {
    name: "nothing is signed for somebody else's member, for which the others wait",
    given: withBudget(withMember(switching({}, ["both", "both", "both"], "2026-01-01T11:59:00Z"), stranger())),
    expect: "wait: switch-tls",
  },
  {
    name: "clients have the time to go over to TLS",
    given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:01Z"),
    expect: "wait: switch-tls",
  },
  {
    name: "which begins when every member serves both",
    given: switching({}, ["reached", "reached", "reached"]),
    expect: "wait: switch-tls",
  },
  {
    name: "then nobody is served without it",
    given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:00Z"),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "as long as spec.tls says",
    given: switching({ client: { plaintextFor: "2h" } }, ["reached", "reached", "reached"], "2026-01-01T11:00:00Z"),
    expect: "wait: switch-tls",
  },
  { name: "an application holds up the next authority, and people are told", given: heldUp, expect: "settled" },
  { name: "until all of it is over", given: switching({}, ["all", "all", "all"]), expect: "settled" },
  {
    name: "back: everybody is served both ways, and reached without it, first",
    given: switching(WITHOUT, ["all", "all", "all"]),
    expect: "give-turn: replacePeer my-etcd-2 fenced",
  },
  {
    name: "and clients have the same time",
    given: switching({ client: { provider: "None" } }, ["reached", "reached", "reached"], "2026-01-01T11:30:00Z"),
    expect: "wait: switch-tls",
  },
]);

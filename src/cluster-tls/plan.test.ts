import { CLIENT_TRUST_ANNOTATION, ROTATE_CA_ANNOTATIONS } from "#api/names.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import { tlsStatus } from "#cluster-tls/check/tls-status.ts";
import { certificateRequest, trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { boundTo } from "#kit/snapshots/bindings.ts";
import { DAY_MS } from "#kit/snapshots/certificates.ts";
import { born, cluster, NOW, sickFor, withBudget, withoutMember } from "#kit/snapshots/cluster.ts";
import { stranger, withIntent, withMember, withoutPeers } from "#kit/snapshots/cluster-changes.ts";
import { NEWER } from "#kit/snapshots/cluster-rolling.ts";
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
} from "#kit/snapshots/cluster-tls.ts";
import { seenToo } from "#kit/snapshots/provider-change.ts";
import { switching, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import { testPlans } from "#kit/tables/cluster-plan.ts";
import type { Certificate } from "#kube/kinds.ts";
import { memberTls } from "./member-tls.ts";
import { SIDES } from "./read/purposes.ts";

// Plans that issue and replace certificates.

const settled = secured();
const { headlessService } = cluster();
/** The identity is recorded, and there are no members yet. */
const first = unissued({ stage: "recorded", with: { headlessService } });
const withAuthorities = withMade(first, { peerCA: {}, clientCA: {} });
const withPeerPair = withMade(withAuthorities, { peer: {} });
const withServer = withMade(withPeerPair, { server: {} });
const withAll = withMade(withServer, { operator: {}, application: {} });

const SECRETS_OF = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
  },
};
const brought = secured({}, SECRETS_OF, { isOurs: false, by: THEIRS });
const bring = unissued({ stage: "recorded", with: { headlessService } }, SECRETS_OF);
const broughtFirst = withMade(bring, { peer: { isOurs: false }, server: { isOurs: false } });

const forming = { ...broughtFirst, certificates: { ...broughtFirst.certificates, trustMap: unknown("no answer") } };
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

/**
 * A cluster that is to have five members and another peer Secret. @param next the content of that @param names in the
 * certificate of the current three
 */
function turningTo(next: object, names: readonly string[] = hosts(0, 1, 2)): ClusterSnapshot {
  const three = withMade(brought, { peer: { isOurs: false, by: THEIRS, names } });
  const other = { ...SECRETS_OF, peer: { provider: "Secret", secret: { name: "their-next" } } };
  const turned = begin(three)
    .apply(goingTo, other)
    .apply(withMade, { peer: { isOurs: false, names: ["*.my-etcd.foo.svc"], ...next } }).snapshot;
  return wanting({ ...turned, certificates: { ...turned.certificates, requests: {} } }, 5);
}

function withoutTls(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { tls: _, ...spec } = snapshot.cluster.spec;
  return { ...snapshot, cluster: { ...snapshot.cluster, spec } };
}

/** spec.replicas has this value. */
function wanting(snapshot: ClusterSnapshot, replicas: number): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, replicas } } };
}

/** cert-manager is installed, and no Certificate exists. */
function requests(snapshot: ClusterSnapshot): ClusterSnapshot {
  const none = { peer: absent, server: absent, operator: absent, application: absent };
  return { ...snapshot, certificates: { ...snapshot.certificates, requests: none } };
}

/** Secrets with requested names and certificates of unknown origin. */
const foreign = { isOurs: false, by: THEIRS, certificateName: undefined };
const foreignPairs = { peer: foreign, server: foreign, operator: foreign, application: foreign };

const issuing = secured({}, BY_MANAGER, { isOurs: false, by: THEIRS });

/** The Secret of applications with the certificate of cert-manager. */
const publishedCertificate: SeenCertificate = {
  ...made(issuing, "application", { by: THEIRS, certificateName: undefined }),
  secretName: "my-etcd-client",
};

function withHandout(snapshot: ClusterSnapshot, clientSecret: Observed<SeenCertificate>): ClusterSnapshot {
  return { ...requested(snapshot), certificates: { ...requested(snapshot).certificates, clientSecret } };
}

/** The issuer of clients has a new key, and renewed the application's certificate, which members reject. */
function doubted(snapshot: ClusterSnapshot, server: object = {}): ClusterSnapshot {
  const given = withMade(snapshot, {
    application: { isOurs: false, by: NEXT },
    server: { isOurs: false, by: THEIRS, ...server },
  });
  return withHandout(given, present(publishedCertificate));
}

/** The renewed certificate, with the server certificate renewed as well, while one member is lost. */
const doubtedAll = begin(secured({ down: ["my-etcd-1"] }, BY_MANAGER, { isOurs: false, by: THEIRS }))
  .apply(lostFor)
  .apply(doubted, {
    by: NEXT,
  }).snapshot;
const clientSecretHasNext = seenToo(doubtedAll, {
  clientSecret: present({ ...publishedCertificate, trustIds: [THEIRS.id, NEXT.id] }),
});
const allBundlesHaveNext = seenToo(clientSecretHasNext, {
  trustMap: present(born(trustMap(clientSecretHasNext, bundle(THEIRS, NEXT)))),
});

function lostFor(snapshot: ClusterSnapshot): ClusterSnapshot {
  return sickFor(snapshot, "my-etcd-1", 300_000);
}

/** One member's EtcdPeer was deleted, and its pod runs on with its own trust. */
function orphaned(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withoutPeers(snapshot, "my-etcd-1");
}

/** A change to provider Secret of which the operator's certificate is missing. */
const halfBrought = begin(issuing)
  .apply(goingTo, { ...SECRETS_OF, peer: BY_MANAGER.peer })
  .apply(withHandout, present(publishedCertificate))
  .apply(withMade, {
    server: { isOurs: false, by: NEXT },
  }).snapshot;

/** A change of the client side to provider Secret, published to clients; one member uses it. */
const secondShown = begin(published()).apply(running).apply(running, ["my-etcd-2"]).snapshot;
/** During the change another source is requested, which is missing. */
const thirdAsked = begin(secondShown)
  .apply(asksFor, "third-server")
  .apply(withSeen, { server: absent, operator: absent }).snapshot;

/** The requested Secret was published to clients, and is lost before any member trusted it. */
const secretsMissing = begin(settled)
  .apply(goingTo, { client: SECRETS_OF.client })
  .apply(withSeen, { server: absent, operator: absent }).snapshot;
const publishedMap = trustMap(secretsMissing, bundle(OWN, THEIRS));

function published(): ClusterSnapshot {
  const theirs = { isOurs: false, by: THEIRS };
  const turned = begin(settled)
    .apply(goingTo, { client: SECRETS_OF.client })
    .apply(withMade, { server: theirs, operator: theirs }).snapshot;
  const trust = bundle(OWN, THEIRS);
  const [application, operator] = (["application", "operator"] as const).map((each) =>
    present(made(settled, each, { trust })),
  );
  const { certificates } = turned;
  const previous = { ...certificates?.previous, application: application!, operator: operator! };
  const map = present(born(trustMap(turned, trust)));
  const seen = {
    ...certificates,
    previous,
    clientSecret: application!,
    trustMap: map,
    trustMapForMs: 3_600_000,
    requests: {},
  };
  return { ...turned, certificates: seen };
}

/** A change to provider Secret while the current CA is lost, before anything was published. */
function unsigned(all: { readonly [purpose in LeafPurpose]?: Parameters<typeof made>[2] }): ClusterSnapshot {
  const { certificates, ...turned } = published();
  const { previous, clientSecret: _, ...seen } = certificates ?? {};
  const leaves = (["server", "operator", "application"] as const).map((each) => [
    each,
    present(made(settled, each, all[each])),
  ]);
  return {
    ...turned,
    certificates: { ...seen, previous: { ...previous, clientCA: absent, ...Object.fromEntries(leaves) } },
  };
}

function asksFor(snapshot: ClusterSnapshot, server: string): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const secret = { server: { name: server }, operator: { name: "third-operator" } };
  const tls = tlsSpec({ client: { provider: "Secret", secret } });
  return { ...snapshot, cluster: { ...live, spec: { ...live.spec, tls } } };
}

function trustOf({ certificates }: ClusterSnapshot) {
  const found = certificates?.trustMap;
  if (found?.is !== "present") throw new Error("it has one");
  return found.value;
}

/** The snapshot at another time. */
function at(snapshot: ClusterSnapshot, takenAtMs: number): ClusterSnapshot {
  return { ...snapshot, takenAtMs };
}

/** Rotations are requested on these sides. */
function annotated(snapshot: ClusterSnapshot, wishes: { peer?: string; client?: string }): ClusterSnapshot {
  const { metadata } = snapshot.cluster;
  const asked = SIDES.map((side) => [ROTATE_CA_ANNOTATIONS[side], wishes[side]] as const);
  const given = asked.flatMap(([annotation, value]) => (value === undefined ? [] : [[annotation, value] as const]));
  const annotations = { ...metadata.annotations, ...Object.fromEntries(given) };
  return { ...snapshot, cluster: { ...snapshot.cluster, metadata: { ...metadata, annotations } } };
}

const both = bundle(OWN, NEXT);
/** The next CA exists, and is not published. */
const added = begin(settled)
  .apply(annotated, { peer: "1" })
  .apply(withMade, { peerCA: { next: NEXT, rotatedFor: "1" } }).snapshot;
/** Every Secret has the next CA in ca.crt. */
const spread = withMade(added, { peer: { trust: both } });
const trusting = running(spread);
const switched = withMade(trusting, { peerCA: { by: NEXT, trust: bundle(NEXT, OWN), rotatedFor: "1" } });
/** The certificates of members are reissued; running pods may use the old ones. */
const signed = withMade(switched, { peer: { by: NEXT, trust: bundle(NEXT, OWN) } });
const replaced = running(signed);
const alone = withMade(replaced, {
  peerCA: { by: NEXT, trust: bundle(NEXT), rotatedFor: "1" },
  peer: { by: NEXT, trust: bundle(NEXT) },
});

/** spec.tls was removed; the status records the Secrets. */
function taken(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const { tls: _, ...spec } = live.spec;
  return { ...snapshot, cluster: { ...live, spec, status: { ...live.status, ...tlsStatus(snapshot) } } };
}

/** Pods with trust on the peer side alone. */
function trustingPeers({ pods }: ClusterSnapshot): ClusterSnapshot["pods"] {
  return new Map(
    [...pods].map(([name, pod]) => {
      const { [CLIENT_TRUST_ANNOTATION]: _, ...annotations } = pod.metadata.annotations ?? {};
      return [name, { ...pod, metadata: { ...pod.metadata, annotations } }];
    }),
  );
}

const lostAuthority = withSeen(settled, { peerCA: absent });
/** A new CA exists in its place. */
const remade = withMade(settled, { peerCA: { by: NEXT, trust: bundle(NEXT, OWN) } });
const remadeSpread = withMade(remade, { peer: { trust: bundle(NEXT, OWN) } });

/** A user put another pair into the CA's Secret; the peer certificate is signed by the old one. */
const putAlone = withMade(settled, { peerCA: { by: NEXT } });
const putAloneClients = withMade(settled, { clientCA: { by: NEXT } });
/** A user edited its ca.crt. */
const edited = { peer: { trust: bundle(THEIRS) } };

/** The CA of clients was lost, and the new one is published. */
const remadeClients = begin({ ...settled, certificates: { ...settled.certificates, trustMap: unknown("no answer") } })
  .apply(withMade, {
    clientCA: { by: NEXT, trust: bundle(NEXT, OWN) },
    server: { trust: both },
    operator: { trust: both },
    application: { trust: both },
  })
  .apply(running).snapshot;

/** All but the binding of an EtcdUser is ready for the next CA to sign. */
const LEAVES = { server: { trust: both }, operator: { trust: both }, application: { trust: both } };
const heldUp = begin(settled)
  .apply(withMade, { clientCA: { next: NEXT }, ...LEAVES })
  .apply(running)
  .apply(seenToo, {
    trustMap: unknown("no answer"),
    bindings: [boundTo()],
  }).snapshot;

testPlans("src/cluster-tls", [
  { name: "changes nothing in a cluster with all certificates", given: settled, expect: "settled" },
  {
    name: "changes nothing when Secrets that were read before can no longer be read",
    given: seenToo(settled, {
      refused: 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"',
    }),
    expect: "settled",
  },
  { name: "creates the CA of peers first", given: first, expect: "issue-ca: issueAuthority peer" },
  {
    name: "creates the CA of clients next",
    given: withMade(first, { peerCA: {} }),
    expect: "issue-ca: issueAuthority client",
  },
  {
    name: "issues the peer certificate once CAs exist",
    given: withAuthorities,
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "issues the server certificate after the peer certificate",
    given: withPeerPair,
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "issues the operator's certificate after the server certificate",
    given: withServer,
    expect: "issue-certificate: issueLeaf operator",
  },
  {
    name: "issues the application's certificate last",
    given: withMade(withServer, { operator: {} }),
    expect: "issue-certificate: issueLeaf application",
  },
  { name: "publishes the CAs to clients", given: withAll, expect: "trust-map: createTrustMap" },
  {
    name: "creates no member while a Secret could not be read",
    given: withSeen(first, { peerCA: unknown("no answer"), clientCA: unknown("no answer") }),
    expect: "wait: await-certificates",
  },
  {
    name: "creates no member before all Secrets were read",
    given: { ...first, certificates: undefined },
    expect: "wait: await-certificates",
  },
  {
    name: "creates members once their certificates exist",
    given: { ...withAll, certificates: { ...withAll.certificates, trustMap: unknown("no answer") } },
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "creates the CA of peers beside user-provided client Secrets",
    given: unissued({ stage: "recorded", with: { headlessService } }, { client: SECRETS_OF.client }),
    expect: "issue-ca: issueAuthority peer",
  },
  {
    name: "creates the CA of clients beside a user-provided peer Secret",
    given: unissued({ stage: "recorded", with: { headlessService } }, { peer: SECRETS_OF.peer }),
    expect: "issue-ca: issueAuthority client",
  },
  {
    name: "waits while the Certificate of cert-manager could not be read",
    given: { ...ask, certificates: { ...ask.certificates, requests: { peer: unknown("no answer") } } },
    expect: "wait: await-certificates",
  },
  { name: "waits while the Certificate of cert-manager was not read", given: ask, expect: "wait: await-certificates" },
  { name: "waits for user-provided Secrets with a warning", given: bring, expect: "warn: await-certificates" },
  {
    name: "waits while user-provided Secrets lack consent",
    given: withMade(forming, { peer: { isOurs: false, mayBeShown: false } }),
    expect: "warn: await-certificates",
  },
  {
    name: "waits while user-provided client Secrets lack consent",
    given: withMade(forming, { server: { isOurs: false, mayBeShown: false } }),
    expect: "warn: await-certificates",
  },
  {
    name: "keeps members' certificates when the consent is removed",
    given: withMade(brought, {
      peer: { isOurs: false, by: THEIRS, mayBeShown: false },
      server: { isOurs: false, by: THEIRS, mayBeShown: false },
      operator: { isOurs: false, by: THEIRS, mayBeShown: false },
    }),
    expect: "settled",
  },
  {
    name: "creates members once user-provided Secrets exist",
    given: { ...broughtFirst, certificates: { ...broughtFirst.certificates, trustMap: unknown("no answer") } },
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  { name: "does not write user-provided Secrets", given: brought, expect: "settled" },
  {
    name: "does not replace invalid or missing user-provided Secrets",
    given: begin(brought)
      .apply(withSeen, { peer: absent })
      .apply(withMade, {
        server: { isOurs: false, by: THEIRS, trouble: "its tls.key is not the key of its tls.crt" },
      }).snapshot,
    expect: "settled",
  },
  {
    name: "does not replace expired user-provided Secrets",
    given: at(brought, NOW + 81 * DAY_MS),
    expect: "settled",
  },
  {
    name: "requests certificates from cert-manager",
    given: { ...ask, certificates: { ...ask.certificates, requests: { peer: absent } } },
    expect: "certificate-request: createRequest peer",
  },
  {
    name: "waits for cert-manager",
    given: requested(ask),
    expect: "wait: await-certificates",
  },
  {
    name: "waits with a warning when cert-manager is not installed",
    given: { ...ask, certificates: { ...ask.certificates, requests: { peer: { is: "notServed" } } } },
    expect: "warn: await-certificates",
  },
  {
    name: "changes nothing once cert-manager has issued all certificates",
    given: requested(issuing),
    expect: "settled",
  },
  {
    name: "corrects an edited Certificate",
    given: requested(issuing, (each) => ({ ...each, spec: { ...each.spec!, dnsNames: ["other"] } })),
    expect: "certificate-request: replaceRequest peer",
  },
  {
    name: "requests certificates in new Secrets for a change to cert-manager",
    given: goingTo(settled, BY_MANAGER),
    expect: "certificate-request: createRequest peer",
  },
  {
    name: "publishes the certificate of cert-manager to applications",
    given: withHandout(issuing, absent),
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "publishes the renewed certificate of cert-manager to applications",
    given: withHandout(issuing, present({ ...publishedCertificate, fingerprint: "earlier" })),
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "publishes the certificate of applications again when its bundle was edited",
    given: withHandout(issuing, present({ ...publishedCertificate, trustIds: [OWN.id] })),
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "publishes the certificate of applications again when its key was removed",
    given: withHandout(issuing, present({ ...publishedCertificate, trouble: "it has no tls.key" })),
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "gives the labels of spec.clientSecret to the Secret that it publishes",
    given: withHandout(issuing, present({ ...publishedCertificate, given: "earlier" })),
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "replaces a lost member instead of publishing a certificate that members reject",
    given: begin(secured({ down: ["my-etcd-1"] }, BY_MANAGER, { isOurs: false, by: THEIRS }))
      .apply(lostFor)
      .apply(doubted).snapshot,
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "publishes a certificate that members reject once the published one has expired",
    given: begin(secured({}, BY_MANAGER, { isOurs: false, by: THEIRS }))
      .apply(doubted)
      .apply(withHandout, present({ ...publishedCertificate, notAfterMs: NOW })).snapshot,
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "publishes a certificate that members reject when the published one is invalid",
    given: begin(secured({}, BY_MANAGER, { isOurs: false, by: THEIRS }))
      .apply(doubted)
      .apply(withHandout, present({ ...publishedCertificate, trouble: "it has no tls.key" })).snapshot,
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "recreates an EtcdPeer before it publishes a certificate",
    given: begin(issuing).apply(orphaned).apply(doubted).snapshot,
    expect: "recreate-peer: createPeer my-etcd-1 fenced",
  },
  {
    name: "publishes the new CA of members to applications beside their own certificate",
    given: doubtedAll,
    expect: "publish-client-secret: publishClientSecret",
  },
  {
    name: "renews a certificate also in a pause",
    given: at(secured({ spec: { paused: true } }), NOW + 50 * DAY_MS),
    expect: "renew-in-pause: issueLeaf peer",
  },
  {
    name: "publishes all additional CAs to clients after the client Secret has them",
    given: clientSecretHasNext,
    expect: "trust-map: replaceTrustMap",
  },
  {
    name: "restarts members once additional CAs are published",
    given: allBundlesHaveNext,
    expect: "update-stopped: replacePeer my-etcd-1 fenced",
  },
  {
    name: "changes nothing when applications have the published certificate and CAs",
    given: withHandout(issuing, present(publishedCertificate)),
    expect: "settled",
  },
  {
    name: "publishes no new CA to applications while the requested certificates are incomplete",
    given: halfBrought,
    expect: "settled",
  },
  {
    name: "removes no published CA from clients while requested certificates are incomplete",
    given: {
      ...secretsMissing,
      certificates: { ...secretsMissing.certificates, trustMap: present(born(publishedMap)), requests: {} },
    },
    expect: "settled",
  },
  {
    name: "removes no published CA from clients while some members use it",
    given: thirdAsked,
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "publishes the CAs of all members again when the ConfigMap was lost",
    given: { ...thirdAsked, certificates: { ...thirdAsked.certificates, trustMap: absent } },
    expect: "trust-map: createTrustMap",
  },
  {
    name: "publishes additional CAs in the operator's Secret although the signing CA is lost",
    given: unsigned({}),
    expect: "issue-certificate: spreadTrust operator",
  },
  {
    name: "publishes additional CAs in the application's Secret after the operator's Secret has them",
    given: unsigned({ operator: { trust: bundle(OWN, THEIRS) } }),
    expect: "issue-certificate: spreadTrust application",
  },
  {
    name: "restarts members once all own Secrets have the additional CAs",
    given: unsigned({ operator: { trust: bundle(OWN, THEIRS) }, application: { trust: bundle(OWN, THEIRS) } }),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "publishes no additional CAs in an invalid Secret or in a Secret of another owner",
    given: unsigned({ operator: { isOurs: false }, application: { trouble: "it has no tls.key" } }),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "does not overwrite the client Secret of another owner",
    given: withHandout(issuing, present({ ...publishedCertificate, ownerUid: undefined, fingerprint: "theirs" })),
    expect: "settled",
  },
  {
    name: "does not publish an invalid certificate of cert-manager",
    given: begin(issuing)
      .apply(withMade, { application: { isOurs: false, by: THEIRS, trouble: "it has no tls.key" } })
      .apply(withHandout, present({ ...publishedCertificate, fingerprint: "earlier" })).snapshot,
    expect: "settled",
  },
  {
    name: "does not take over a Certificate of another owner",
    given: requested(issuing, (each) => ({ ...each, metadata: { ...each.metadata, ownerReferences: [] } })),
    expect: "settled",
  },
  {
    name: "renews no certificate before a third of its life is left",
    given: at(settled, NOW + 50 * DAY_MS - 1),
    expect: "settled",
  },
  {
    name: "renews a certificate by the same CA when pods have no recorded trust",
    given: at({ ...settled, pods: cluster().pods }, NOW + 50 * DAY_MS),
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "reissues a certificate for an edited spec from the moment at which the CA is valid",
    given: begin(settled)
      .apply(withMade, { peer: { madeFor: "else" } })
      .apply(at, NOW - 100 * DAY_MS).snapshot,
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "removes CAs that a user added",
    given: withMade(settled, { peer: { trust: bundle(OWN, THEIRS) } }),
    expect: "issue-certificate: spreadTrust peer",
  },
  {
    name: "accepts the CAs of a bundle in any order",
    given: withMade(settled, { peerCA: { next: NEXT }, peer: { trust: bundle(NEXT, OWN), knownForMs: 0 } }),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "reissues a certificate with a bundle that lacks the current CA",
    given: withMade(settled, { clientCA: { next: NEXT }, server: { trust: bundle(NEXT), by: NEXT } }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "renews a certificate when a third of its life is left",
    given: at(settled, NOW + 50 * DAY_MS),
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "renews a certificate by renewBefore",
    given: withMade(secured({}, { client: { duration: "24h", renewBefore: "1h" } }, { lastsMs: 7_200_000 }), {
      server: { lastsMs: 3_600_000 },
      peer: {},
    }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "renews while etcd does not answer",
    given: at({ ...settled, members: unknown("no quorum") }, NOW + 50 * DAY_MS),
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "does not renew a certificate when the new one would not last longer",
    given: secured({}, { peer: { duration: "87600h", renewBefore: "43800h" } }, { lastsMs: 300 * DAY_MS }),
    expect: "rotate-ca: rotateAuthority peer add",
  },
  {
    name: "reissues no certificate while the clock is before the validity of the CA",
    given: begin(settled)
      .apply(withMade, { peer: { madeFor: "else" } })
      .apply(at, NOW - 101 * DAY_MS).snapshot,
    expect: "settled",
  },
  {
    name: "renews the peer certificate also after spec.tls was removed",
    given: begin(settled)
      .apply(taken)
      .apply(at, NOW + 50 * DAY_MS).snapshot,
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "renews the operator's certificate also after spec.tls was removed",
    given: begin(settled)
      .apply(withMade, { operator: { lastsMs: DAY_MS } })
      .apply(taken).snapshot,
    expect: "issue-certificate: issueLeaf operator",
  },
  {
    name: "creates no CA and no certificate for other sources after spec.tls was removed",
    given: begin(issuing)
      .apply(withMade, { peer: { isOurs: false, lastsMs: DAY_MS } })
      .apply(taken)
      .apply(at, NOW + 70 * DAY_MS).snapshot,
    expect: "settled",
  },
  {
    name: "keeps an old CA that is in use when spec.tls is removed during a rotation",
    given: taken(signed),
    expect: "settled",
  },
  {
    name: "requests no certificate that would overwrite a Secret of another owner",
    given: begin(ask).apply(requests).apply(withMade, foreignPairs).snapshot,
    expect: "warn: await-certificates",
  },
  {
    name: "requests a certificate in a Secret that cert-manager has filled before",
    given: begin(ask)
      .apply(requests)
      .apply(withMade, { ...foreignPairs, peer: { isOurs: false, by: THEIRS } }).snapshot,
    expect: "certificate-request: createRequest peer",
  },
  {
    name: "corrects an existing Certificate although its Secret has another owner",
    given: withMade(
      requested(ask, (request) => ({ ...request, spec: { ...request.spec!, secretName: "another" } })),
      foreignPairs,
    ),
    expect: "certificate-request: replaceRequest peer",
  },
  {
    name: "creates no member with another owner's Secret",
    given: {
      ...withAll,
      certificates: { ...withMade(withAll, { peer: { isOurs: false } }).certificates, trustMap: unknown("no answer") },
    },
    expect: "warn: await-certificates",
  },
  {
    name: "creates no member with a Secret that cert-manager has not filled",
    given: withMade(requested(ask), foreignPairs),
    expect: "warn: await-certificates",
  },
  {
    name: "creates a missing Certificate although its Secret exists",
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
    name: "creates no first member when the peer certificate lacks its name",
    given: withMade(forming, { peer: { isOurs: false, names: hosts(0, 1) } }),
    expect: "warn: bootstrap",
  },
  {
    name: "creates no first member when the server certificate lacks its name",
    given: withMade(forming, { server: { isOurs: false, names: hosts(0, 1) } }),
    expect: "warn: bootstrap",
  },
  {
    name: "creates first members when both certificates have their names",
    given: withMade(forming, {
      peer: { isOurs: false, names: hosts(0, 1, 2) },
      server: { isOurs: false, names: hosts(0, 1, 2) },
    }),
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "adds no member when the certificate lacks its name",
    given: begin(brought)
      .apply(withMade, { peer: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2) } })
      .apply(wanting, 5).snapshot,
    expect: "settled",
  },
  {
    name: "removes an intent when the certificate lacks its name, so that other members do not wait",
    given: begin(brought)
      .apply(withMade, { server: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2) } })
      .apply(wanting, 5)
      .apply(withIntent)
      .apply(running).snapshot,
    expect: "scale-up: deletePeer my-etcd-3",
  },
  {
    name: "adds no member when the certificate in use lacks its name and the requested certificate has it",
    given: turningTo({ by: THEIRS }),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "adds no member when only the requested certificate has its name and members do not trust its CA yet",
    given: turningTo({ by: OWN }),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "adds no member after spec.tls was removed when the certificate in use lacks its name",
    given: begin(brought)
      .apply(withMade, { peer: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2) } })
      .apply(withoutTls)
      .apply(wanting, 5).snapshot,
    expect: "settled",
  },
  {
    name: "adds a member when the certificate in use has its name and the requested certificate lacks it",
    given: turningTo({ by: THEIRS, names: hosts(0, 1, 2) }, ["*.my-etcd.foo.svc"]),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "adds no member when other members would reject the certificate",
    given: begin(brought)
      .apply(withMade, { peer: { isOurs: false, by: OWN } })
      .apply(wanting, 5).snapshot,
    expect: "settled",
  },
  {
    name: "adds no member while the peer certificate is invalid",
    given: begin(brought)
      .apply(withMade, { peer: { isOurs: false, by: THEIRS, trouble: "its tls.key is not the key of its tls.crt" } })
      .apply(wanting, 5).snapshot,
    expect: "settled",
  },
  {
    name: "adds no member while the peer Secret is missing",
    given: begin(brought).apply(withSeen, { peer: absent }).apply(wanting, 5).snapshot,
    expect: "settled",
  },
  {
    name: "adds a member when the certificate has its name and lacks the names of later members",
    given: begin(brought)
      .apply(withMade, { peer: { isOurs: false, by: THEIRS, names: hosts(0, 1, 2, 3) } })
      .apply(wanting, 5).snapshot,
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "recreates a deleted Secret",
    given: withSeen(settled, { server: absent }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "reissues a certificate without a key",
    given: withMade(settled, { application: { trouble: "it has no tls.key" } }),
    expect: "issue-certificate: issueLeaf application",
  },
  {
    name: "reissues a certificate with the key of a different certificate",
    given: withMade(settled, { operator: { trouble: "its tls.key is not the key of its tls.crt" } }),
    expect: "issue-certificate: issueLeaf operator",
  },
  {
    name: "reissues a certificate of another CA",
    given: withMade(settled, { peer: { by: THEIRS, trust: bundle(THEIRS) } }),
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "reissues a certificate that is not valid for members",
    given: withMade(settled, { server: { names: ["localhost"] } }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "reissues a certificate that is not valid for clients",
    given: withMade(settled, { operator: { usages: ["serverAuth"] } }),
    expect: "issue-certificate: issueLeaf operator",
  },
  {
    name: "reissues a certificate with the names in the current spec",
    given: withMade(settled, { server: { madeFor: "else" } }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "does not write a Secret of another owner",
    given: withMade(settled, { server: { isOurs: false, trouble: "it has no tls.key" } }),
    expect: "settled",
  },
  {
    name: "does not write a CA Secret of a deleted cluster of the same name",
    given: withMade(settled, { clientCA: { isOurs: false } }),
    expect: "settled",
  },
  {
    name: "does not write a Secret that could not be read",
    given: withSeen(settled, { peer: unknown("no") }),
    expect: "settled",
  },
  {
    name: "does not replace an invalid CA and restarts no member",
    given: withMade(settled, { peerCA: { trouble: "its tls.key is not the key of its tls.crt" } }),
    expect: "settled",
  },
  {
    name: "corrects the ConfigMap of clients",
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
    name: "does not write a ConfigMap of another owner",
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
    name: "rotates a CA that expires in less than a year",
    given: withMade(settled, { peerCA: { lastsMs: 365 * DAY_MS } }),
    expect: "rotate-ca: rotateAuthority peer add",
  },
  {
    name: "does not rotate a CA that expires in more than a year",
    given: withMade(settled, { peerCA: { lastsMs: 365 * DAY_MS + 1 } }),
    expect: "settled",
  },
  {
    name: "rotates a CA on request of the annotation",
    given: annotated(settled, { client: "1" }),
    expect: "rotate-ca: rotateAuthority client add",
  },
  {
    name: "rotates both CAs on request of the annotation",
    given: annotated(settled, { peer: "1", client: "1" }),
    expect: "rotate-ca: rotateAuthority peer add",
  },
  {
    name: "does not rotate a CA while the clock is before its validity",
    given: begin(settled)
      .apply(annotated, { peer: "1" })
      .apply(at, NOW - 100 * DAY_MS - 1).snapshot,
    expect: "settled",
  },
  {
    name: "rotates a CA once the clock is in its validity",
    given: begin(settled)
      .apply(annotated, { peer: "1" })
      .apply(at, NOW - 100 * DAY_MS).snapshot,
    expect: "rotate-ca: rotateAuthority peer add",
  },
  {
    name: "does not rotate for an annotation without a value",
    given: annotated(settled, { peer: "", client: "" }),
    expect: "settled",
  },
  {
    name: "does not begin a rotation while the peer certificate is invalid",
    given: begin(settled)
      .apply(annotated, { peer: "1" })
      .apply(withMade, { peer: { trouble: "it has no ca.crt", isOurs: false } }).snapshot,
    expect: "settled",
  },
  { name: "publishes the new CA of a rotation first", given: added, expect: "issue-certificate: spreadTrust peer" },
  {
    name: "restarts members to trust the new CA",
    given: spread,
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "does not sign with the new CA while one member has yet to restart",
    given: running(spread, ["my-etcd-1", "my-etcd-2"]),
    expect: "update-member: replacePeer my-etcd-0 fenced",
  },
  {
    name: "does not sign with the new CA while a pod is older than the template of its EtcdPeer",
    given: started({ ...trusting, pods: spread.pods }, ["my-etcd-1", "my-etcd-2"]),
    expect: "wait: restart-member",
  },
  {
    name: "signs with the new CA once pods trust it, also when the Secret is new",
    given: withMade(trusting, { peer: { trust: both, knownForMs: 0 } }),
    expect: "rotate-ca: rotateAuthority peer switch",
  },
  { name: "reissues every certificate with the new CA", given: switched, expect: "issue-certificate: issueLeaf peer" },
  {
    name: "restarts members to use certificates of the new CA",
    given: signed,
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "keeps the old CA while one member has yet to restart",
    given: running(signed, ["my-etcd-1", "my-etcd-2"]),
    expect: "update-member: replacePeer my-etcd-0 fenced",
  },
  {
    name: "keeps the old CA while a pod is older than the template of its EtcdPeer",
    given: started({ ...replaced, pods: signed.pods }, ["my-etcd-1", "my-etcd-2"]),
    expect: "wait: restart-member",
  },
  {
    name: "drops the old CA once no pod uses it, also when the Secret is new",
    given: withMade(replaced, { peer: { by: NEXT, trust: bundle(NEXT, OWN), knownForMs: 0 } }),
    expect: "rotate-ca: rotateAuthority peer drop",
  },
  {
    name: "restarts members once more without the old CA",
    given: alone,
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  { name: "changes nothing when the rotation is complete", given: running(alone), expect: "settled" },
  {
    name: "does not rotate again for the same annotation value",
    given: begin(settled)
      .apply(annotated, { peer: "1", client: "1" })
      .apply(withMade, {
        peerCA: { rotatedFor: "1" },
        clientCA: { rotatedFor: "1" },
      }).snapshot,
    expect: "settled",
  },
  {
    name: "rotates again for a new annotation value, and only on its side",
    given: begin(settled)
      .apply(annotated, { peer: "1", client: "2" })
      .apply(withMade, {
        peerCA: { rotatedFor: "1" },
        clientCA: { rotatedFor: "1" },
      }).snapshot,
    expect: "rotate-ca: rotateAuthority client add",
  },
  {
    name: "removes the record of a rotation request after the annotation was removed",
    given: withMade(settled, { peerCA: { rotatedFor: "1" } }),
    expect: "rotate-ca: rotateAuthority peer forget",
  },
  {
    name: "replaces a lost CA",
    given: lostAuthority,
    expect: "issue-ca: issueAuthority peer",
  },
  {
    name: "recreates the EtcdPeer of a running pod before it replaces a lost CA",
    given: orphaned(lostAuthority),
    expect: "recreate-peer: createPeer my-etcd-1 fenced",
  },
  {
    name: "replaces a lost CA while the pod of a removed member runs",
    given: begin(lostAuthority).apply(orphaned).apply(withoutMember, "my-etcd-1").snapshot,
    expect: "issue-ca: issueAuthority peer",
  },
  {
    name: "replaces a lost client CA while a pod without EtcdPeer trusts only the peer CA",
    given: withSeen({ ...orphaned(lostAuthority), pods: trustingPeers(settled) }, { clientCA: absent }),
    expect: "issue-ca: issueAuthority client",
  },
  {
    name: "publishes the new CA after a loss before it signs",
    given: remade,
    expect: "issue-certificate: spreadTrust peer",
  },
  {
    name: "restarts members to trust the new CA after a loss",
    given: remadeSpread,
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "signs with the new CA after a loss once all members trust it",
    given: running(remadeSpread),
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "restarts members to trust the new CA although certificates of the lost CA are about to expire",
    given: withMade(remadeSpread, { peer: { trust: bundle(NEXT, OWN), lastsMs: DAY_MS } }),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "restarts members to trust the new CA although certificates of the lost CA have expired",
    given: withMade(remadeSpread, { peer: { trust: bundle(NEXT, OWN), lastsMs: 0 } }),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "issues no missing certificate that members would reject",
    given: withSeen(remade, { peer: absent }),
    expect: "settled",
  },
  {
    name: "replaces no invalid certificate by one that members would reject",
    given: withMade(remade, { peer: { trouble: "it has no tls.key" } }),
    expect: "settled",
  },
  {
    name: "corrects a bundle without the CA that signed the certificate, so that members trust both CAs",
    given: withMade(remade, edited),
    expect: "issue-certificate: spreadTrust peer",
  },
  {
    name: "corrects an empty bundle",
    given: begin(remade)
      .apply(withMade, edited)
      .apply(withMade, { peer: { trust: "", trouble: "it has no ca.crt" } }).snapshot,
    expect: "issue-certificate: spreadTrust peer",
  },
  {
    name: "changes nothing when the bundle of a certificate with an unknown CA is corrected already",
    given: withMade(remade, { peer: { by: THEIRS, trust: bundle(NEXT, OWN) } }),
    expect: "settled",
  },
  {
    name: "neither signs with nor publishes a peer CA that a user put in place of the old one",
    given: putAlone,
    expect: "settled",
  },
  {
    name: "neither signs with nor publishes a client CA that a user put in place of the old one",
    given: putAloneClients,
    expect: "settled",
  },
  {
    name: "does not use a user's CA when the bundle of the peer Secret has lost the old CA",
    given: withMade(putAlone, { peer: { trust: bundle(NEXT) } }),
    expect: "settled",
  },
  {
    name: "does not use a user's CA without the old CA in its bundle, although members trust both",
    given: withMade(trusting, { peerCA: { by: NEXT, trust: bundle(NEXT) } }),
    expect: "settled",
  },
  {
    name: "rotates to a user's CA once its Secret has both CAs",
    given: withMade(putAlone, { peerCA: { by: NEXT, trust: bundle(NEXT, OWN) } }),
    expect: "issue-certificate: spreadTrust peer",
  },
  {
    name: "rotates to a user's CA also when the peer Secret has lost its bundle",
    given: withMade(putAlone, { peerCA: { by: NEXT, trust: both }, peer: { trust: bundle(NEXT) } }),
    expect: "issue-certificate: spreadTrust peer",
  },
  {
    name: "creates a new CA once the user's CA is deleted",
    given: withSeen(putAlone, { peerCA: absent }),
    expect: "issue-ca: issueAuthority peer",
  },
  {
    name: "reissues a certificate that some members reject by a CA that all members trust",
    given: begin(settled)
      .apply(running, ["my-etcd-1"], memberTls(trusting))
      .apply(withMade, { peer: { by: NEXT } }).snapshot,
    expect: "issue-certificate: issueLeaf peer",
  },
  {
    name: "does not sign with an expired CA that all members trust",
    given: withMade(trusting, { peerCA: { by: NEXT, trust: both, lastsMs: 0 } }),
    expect: "settled",
  },
  {
    name: "restarts no member while one rejects peer certificates in use",
    given: withMade(
      { ...brought, cluster: { ...brought.cluster, spec: { ...brought.cluster.spec, ...NEWER } } },
      { peer: { isOurs: false, by: NEXT } },
    ),
    expect: "warn: members-trust-each-other",
  },
  {
    name: "publishes a new CA of clients after a loss before it signs",
    given: withMade(remadeClients, { application: { trust: both, knownForMs: 149_999 } }),
    expect: "settled",
  },
  {
    name: "signs with a new CA of clients once it is published",
    given: withMade(remadeClients, { application: { trust: both, knownForMs: 150_000 } }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "signs with a new CA of clients without waiting for a Secret of another owner",
    given: withMade(remadeClients, { application: { isOurs: false, trust: both, knownForMs: 0 } }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "signs with a new CA of clients at once when the server certificate is about to expire",
    given: withMade(remadeClients, {
      server: { trust: both, lastsMs: 15 * DAY_MS },
      application: { trust: both, knownForMs: 0 },
    }),
    expect: "issue-certificate: issueLeaf server",
  },
  {
    name: "does not sign with a new CA of clients before its time when the server certificate lasts longer",
    given: withMade(remadeClients, {
      server: { trust: both, lastsMs: 16 * DAY_MS },
      application: { trust: both, knownForMs: 0 },
    }),
    expect: "settled",
  },
  {
    name: "reissues the operator's certificate after the server certificate",
    given: withMade(remadeClients, { server: { by: NEXT, trust: both, knownForMs: 0 } }),
    expect: "issue-certificate: issueLeaf operator",
  },
  {
    name: "gives certificates to members without TLS one at a time",
    given: switching({}, ["nothing", "nothing", "nothing"]),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "creates a missing CA of clients while members have no TLS yet",
    given: withSeen(switching({}, ["nothing", "nothing", "nothing"]), {
      peer: absent,
      server: absent,
      clientCA: absent,
    }),
    expect: "issue-ca: issueAuthority client",
  },
  {
    name: "waits to change peer URLs while etcd lists a member that was added by hand",
    given: begin(switching({}, ["both", "both", "both"], "2026-01-01T11:59:00Z"))
      .apply(withMember, stranger())
      .apply(withBudget).snapshot,
    expect: "wait: switch-tls",
  },
  {
    name: "keeps http for clients until spec.tls.client.plaintextFor is over",
    given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:01Z"),
    expect: "wait: switch-tls",
  },
  {
    name: "keeps http for clients when the start of plaintextFor is not recorded yet",
    given: switching({}, ["reached", "reached", "reached"]),
    expect: "wait: switch-tls",
  },
  {
    name: "turns off http for clients after plaintextFor",
    given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:00Z"),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "keeps http for clients for two hours with plaintextFor 2h",
    given: switching({ client: { plaintextFor: "2h" } }, ["reached", "reached", "reached"], "2026-01-01T11:00:00Z"),
    expect: "wait: switch-tls",
  },
  {
    name: "does not sign with a new CA of clients while the binding of an application lacks it",
    given: heldUp,
    expect: "settled",
  },
  {
    name: "changes nothing when the change to TLS is complete",
    given: switching({}, ["all", "all", "all"]),
    expect: "settled",
  },
  {
    name: "begins to turn TLS off by serving both schemes with http peer URLs",
    given: switching(WITHOUT, ["all", "all", "all"]),
    expect: "update-member: replacePeer my-etcd-2 fenced",
  },
  {
    name: "keeps https for clients until plaintextFor is over when TLS is turned off",
    given: switching({ client: { provider: "None" } }, ["reached", "reached", "reached"], "2026-01-01T11:30:00Z"),
    expect: "wait: switch-tls",
  },
]);

import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import { providerOf } from "#api/tls.ts";
import { absent, present } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";
import { certificateRequest, trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { sideOf } from "#cluster-tls/read/purposes.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { born, NOW } from "#kit/snapshots/cluster.ts";
import { withoutPeers, withStraggler } from "#kit/snapshots/cluster-changes.ts";
import { bundle, goingTo, made, NEXT, OWN, secured, unissued, withMade, withSeen } from "#kit/snapshots/cluster-tls.ts";
import { clientsTrusting, leaving, seenToo, turnedClients } from "#kit/snapshots/provider-change.ts";
import type { Certificate, ConfigMap } from "#kube/kinds.ts";

// Events about certificates, while all other work continues.

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const settled = secured();
const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: { provider: "Secret", secret },
};
const brought = secured({}, BROUGHT, { isOurs: false });
const MANAGED = {
  peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } },
  client: { provider: "None" },
};
const managed = secured({}, MANAGED, { isOurs: false });
const managedClient = secured({}, { peer: { provider: "None" }, client: MANAGED.peer }, { isOurs: false });
const request = born<Certificate>(certificateRequest(managed, "peer"));

function notices(snapshot: ClusterSnapshot): readonly string[] {
  return (planCluster(snapshot).reports ?? []).map(({ rule, because }) => `${rule}: ${because}`);
}

function at(snapshot: ClusterSnapshot, takenAtMs: number): ClusterSnapshot {
  return { ...snapshot, takenAtMs };
}

function requesting(
  snapshot: ClusterSnapshot,
  peer: NonNullable<NonNullable<ClusterSnapshot["certificates"]>["requests"]>["peer"],
) {
  return {
    ...snapshot,
    certificates: { ...snapshot.certificates, ...(peer === undefined ? {} : { requests: { peer } }) },
  };
}

const FOREIGN =
  "exists already and does not belong to this cluster: it is not overwritten; unless members use it, delete it and whatever creates it";
const HOSTS = [0, 1, 2].map((n) => `my-etcd-${n}.my-etcd.foo.svc`);

/** cert-manager has tried and failed. */
function failing(asked: Certificate): Certificate {
  const conditions = [{ type: "Issuing", status: "False", reason: "Failed", message: "no" }];
  return { ...asked, status: { conditions } };
}

const REFUSED = 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';
const UNRENEWED =
  "Secret my-etcd-peer-tls-a3b319c8 is not renewed: cert-manager reports: no; kubectl -n foo describe certificaterequests shows more";

/** spec.replicas has this value. */
function wanting(snapshot: ClusterSnapshot, replicas: number): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, replicas } } };
}

/** Two of three members have joined; the third is listed, has never started, and has no EtcdPeer. */
const straggling = begin(secured({ down: ["my-etcd-2"] }, BROUGHT, { isOurs: false }))
  .apply(withStraggler, { started: false })
  .apply(withoutPeers, "my-etcd-2").snapshot;

const NOT_FILLED =
  "Secret foo/my-etcd-peer-tls-a3b319c8 exists already, and cert-manager has not filled it for Certificate my-etcd-peer-tls-a3b319c8 (annotation cert-manager.io/certificate-name): it is not overwritten; delete it and whatever creates it";
const CA = "Secret foo/my-etcd-peer-ca";

const PEER_ENDS = "the peer certificate of members, expires at 2026-03-22T12:00:00Z, and has not been renewed";
const SHORT = { provider: "Operator", renewBefore: "4h" };

/** The snapshot in which all requested certificates last long. */
function lasting(snapshot: ClusterSnapshot): ClusterSnapshot {
  const all = ["peer", "server", "operator", "application"] as const;
  const there = all.filter((purpose) => snapshot.certificates?.[purpose] !== undefined);
  const isOurs = (purpose: Purpose) => providerOf(snapshot.cluster.spec, sideOf(purpose)) === "Operator";
  const long = (purpose: Purpose) => ({ isOurs: isOurs(purpose), lastsMs: 200 * DAY_MS });
  return withMade(snapshot, Object.fromEntries(there.map((purpose) => [purpose, long(purpose)])));
}

/** The application's certificate of the previous source expires. */
function endingForApplications(snapshot: ClusterSnapshot): ClusterSnapshot {
  const application = present(made(secured(), "application", { lastsMs: DAY_MS }));
  return {
    ...snapshot,
    certificates: { ...snapshot.certificates, previous: { ...snapshot.certificates?.previous, application } },
  };
}

/** Members reject the certificate that cert-manager renewed for applications. */
const doubted = begin(managedClient)
  .apply(withMade, { application: { isOurs: false, by: NEXT } })
  .apply(seenToo, {
    clientSecret: present({ ...made(settled, "application"), certificateName: undefined }),
  }).snapshot;

/** Only the operator's Secret changes. */
const sharing = goingTo(brought, {
  ...BROUGHT,
  client: { provider: "Secret", secret: { ...secret, operator: { name: "other-operator" } } },
});

const cases: { name: string; given: ClusterSnapshot; told: readonly string[] }[] = [
  { name: "nothing while all certificates are valid", given: settled, told: [] },
  { name: "nothing about user-provided Secrets of another owner", given: brought, told: [] },
  {
    name: "a Secret of another owner with the name of the CA's Secret",
    given: withMade(settled, { peerCA: { isOurs: false, trouble: "it has no ca.crt" } }),
    told: [`issue-ca: ${CA} ${FOREIGN}`],
  },
  {
    name: "a CA that replaces the trusted one without having it in its bundle",
    given: withMade(settled, { peerCA: { by: NEXT } }),
    told: [
      `issue-ca: ${CA} cannot be used to sign: its ca.crt lacks the CA that signed Secret my-etcd-peer-tls; add that CA (from spec.tls.peer.trust of an EtcdPeer). Or restore the previous CA. Or delete the Secret: then a new CA is created, and members restart to trust both`,
    ],
  },
  {
    name: "nothing of a new CA while members use the Secret of another provider",
    given: begin(brought)
      .apply(goingTo, { peer: { provider: "Operator" }, client: BROUGHT.client })
      .apply(withMade, {
        peerCA: { by: NEXT },
      }).snapshot,
    told: [],
  },
  {
    name: "nothing about an untrusted new CA with the previous CA in its bundle",
    given: withMade(settled, { peerCA: { by: NEXT, trust: bundle(NEXT, OWN) } }),
    told: [],
  },
  {
    name: "the pods without EtcdPeers that delay the replacement of a lost CA",
    given: begin(settled).apply(withSeen, { peerCA: absent, clientCA: absent }).apply(withoutPeers, "my-etcd-1")
      .snapshot,
    told: [
      `issue-ca: ${CA} is missing, and is not created yet, since pods without EtcdPeers would not trust it: my-etcd-1; if their node is gone for good, delete by force: pod my-etcd-1-abcde`,
    ],
  },
  {
    name: "why applications do not get a renewed certificate that members reject",
    given: doubted,
    told: [
      "publish-client-secret: Secret my-etcd-client does not get the certificate of Secret my-etcd-client-a3b319c8: its tls.crt is signed by a CA that my-etcd-0, my-etcd-1, my-etcd-2 do not trust; sign it with the old CA. Then list both CAs in ca.crt of the members' Secret, and wait until members trust both",
    ],
  },
  {
    name: "a CA that cannot sign, with advice to fix or delete it",
    given: withMade(settled, { peerCA: { trouble: "it has no tls.key" } }),
    told: [
      `issue-ca: ${CA} cannot sign: it has no tls.key; fix it, or delete it: then a new CA is created, and members restart to trust both`,
    ],
  },
  {
    name: "a CA that cannot sign, with advice not to delete it while the peer Secret is missing",
    given: begin(settled)
      .apply(withMade, { peerCA: { trouble: "it has no tls.key" } })
      .apply(withSeen, { peer: absent }).snapshot,
    told: [
      `issue-ca: ${CA} cannot sign: it has no tls.key; fix it, and do not delete it: members could not learn of a new CA while Secret my-etcd-peer-tls is missing`,
    ],
  },
  {
    name: "a missing peer Secret that an untrusted CA cannot reissue, with advice to restore it",
    given: begin(settled)
      .apply(withMade, { peerCA: { by: NEXT } })
      .apply(withSeen, { peer: absent }).snapshot,
    told: [
      "issue-ca: Secret foo/my-etcd-peer-tls, the peer certificate of members, is missing and is not created: my-etcd-0, my-etcd-1, my-etcd-2 would not trust the CA in Secret my-etcd-peer-ca; restore the Secret. Or put into Secret my-etcd-peer-ca the tls.crt, tls.key and ca.crt of the CA that they trust. If both are lost, restore a backup into another EtcdCluster",
    ],
  },
  {
    name: "nothing about an untrusted CA while no certificate is in use",
    given: withMade(unissued(), { peerCA: { by: NEXT } }),
    told: [],
  },
  {
    name: "a Secret of another owner with the name of the server certificate's Secret",
    given: withMade(settled, { server: { isOurs: false } }),
    told: [`issue-certificate: Secret foo/my-etcd-server-tls ${FOREIGN}`],
  },
  {
    name: "a ConfigMap of another owner with the name of the clients' ConfigMap",
    given: {
      ...settled,
      certificates: {
        ...settled.certificates,
        trustMap: present({
          ...born<ConfigMap>(trustMap(settled, "")),
          metadata: { namespace: "foo", name: "my-etcd-ca", uid: "a", resourceVersion: "1" },
        }),
      },
    },
    told: ["trust-map: ConfigMap my-etcd-ca exists already and is not this cluster's: it has no controller; delete it"],
  },
  {
    name: "nothing about a correct Certificate",
    given: requesting(managed, present(request)),
    told: [],
  },
  {
    name: "a member that is not added because the certificate lacks its name",
    given: begin(brought)
      .apply(withMade, { peer: { isOurs: false, names: HOSTS } })
      .apply(wanting, 4).snapshot,
    told: [
      "scale-up: 4 members are wanted and there are 3; my-etcd-3 is not added: Secret foo/their-peer: its tls.crt is not valid for my-etcd-3.my-etcd.foo.svc",
    ],
  },
  {
    name: "a first member that is not created because the certificate lacks its name",
    given: withMade(straggling, { server: { isOurs: false, names: HOSTS.slice(0, 2) } }),
    told: ["bootstrap: Secret foo/their-server: its tls.crt is not valid for my-etcd-2.my-etcd.foo.svc"],
  },
  {
    name: "a foreign Secret that cert-manager would overwrite",
    given: withMade(requesting(managed, absent), { peer: { isOurs: false, certificateName: undefined } }),
    told: [`certificate-request: ${NOT_FILLED}`],
  },
  {
    name: "a Secret filled for another Certificate that cert-manager would overwrite",
    given: withMade(requesting(managed, absent), { peer: { isOurs: false, certificateName: "another" } }),
    told: [`certificate-request: ${NOT_FILLED}`],
  },
  {
    name: "a Certificate of another owner with the requested name",
    given: requesting(managed, present({ ...request, metadata: { ...request.metadata, ownerReferences: [] } })),
    told: [
      "certificate-request: Certificate my-etcd-peer-tls-a3b319c8 exists already and is not this cluster's: it has no controller; delete it",
    ],
  },
  {
    name: "that cert-manager is not installed",
    given: requesting(managed, { is: "notServed" }),
    told: [
      "certificate-request: the provider is CertManager, and the API server knows no Certificates (certificates.cert-manager.io, v1): install cert-manager; the operator checks for it every five minutes",
    ],
  },
  {
    name: "nothing while it is unknown whether cert-manager is installed",
    given: requesting(managed, { is: "unknown", why: "no answer" }),
    told: [],
  },
  {
    name: "a Secret of another owner with the name of the client Secret",
    given: {
      ...managedClient,
      certificates: {
        ...managedClient.certificates,
        clientSecret: present({
          ...made(managedClient, "application"),
          secretName: "my-etcd-client",
          ownerUid: undefined,
        }),
      },
    },
    told: [`publish-client-secret: Secret foo/my-etcd-client ${FOREIGN}`],
  },
  {
    name: "nothing before half of the time for renewal is over",
    given: at(brought, NOW + 65 * DAY_MS - 1),
    told: [],
  },
  {
    name: "the revoked right to read Secrets, with the command that grants it",
    given: seenToo(settled, { refused: REFUSED }),
    told: [
      "secret-access-missing: the operator may not get secrets in namespace foo; an administrator grants it with: kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls --user a",
    ],
  },
  {
    name: "the revoked right to read Secrets also in a pause",
    given: seenToo(secured({ annotations: { [PAUSED_ANNOTATION]: "true" } }), { refused: REFUSED }),
    told: [expect.stringMatching(/^secret-access-missing: /) as never],
  },
  {
    name: "nothing about an error other than a missing right",
    given: seenToo(settled, { refused: "no answer" }),
    told: [],
  },
  {
    name: "a certificate that is about to expire",
    given: begin(brought)
      .apply(withMade, {
        server: { isOurs: false, lastsMs: 90 * DAY_MS },
        operator: { isOurs: false, lastsMs: 90 * DAY_MS },
      })
      .apply(at, NOW + 65 * DAY_MS).snapshot,
    told: [
      "certificate-expires: Secret their-peer, the peer certificate of members, expires at 2026-03-22T12:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "one certificate that has expired and one that is about to expire",
    given: begin(brought)
      .apply(withMade, {
        server: { isOurs: false, lastsMs: 200 * DAY_MS },
        operator: { isOurs: false, lastsMs: 81 * DAY_MS },
      })
      .apply(at, NOW + 80 * DAY_MS).snapshot,
    told: [
      "certificate-expires: Secret their-peer, the peer certificate of members, has expired at 2026-03-22T12:00:00Z; Secret their-operator, the client certificate of the operator, expires at 2026-03-23T12:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "a certificate with a life of seven days when 28 hours are left",
    given: begin(brought)
      .apply(lasting)
      .apply(withMade, {
        peer: { isOurs: false, lastsMs: 29 * HOUR_MS, lifeMs: 7 * DAY_MS },
        server: { isOurs: false, lastsMs: 28 * HOUR_MS, lifeMs: 7 * DAY_MS },
      }).snapshot,
    told: [
      "certificate-expires: Secret their-server, the server certificate of members, expires at 2026-01-02T16:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "a certificate that expires at the same time as its CA",
    given: begin(brought)
      .apply(lasting)
      .apply(withMade, { peer: { isOurs: false, lastsMs: 3_552 * DAY_MS } })
      .apply(at, NOW + 3_540 * DAY_MS).snapshot,
    told: [
      expect.stringContaining(
        "Secret their-peer, the peer certificate of members, expires at 2035-09-23T12:00:00Z, together with its CA",
      ) as never,
    ],
  },
  {
    name: "nothing about a Secret without a certificate",
    given: withMade(brought, { peer: { isOurs: false, trouble: "it has no tls.crt" } }),
    told: [],
  },
  {
    name: "a certificate that is about to expire in a pause, with advice",
    given: at(
      secured({ annotations: { [PAUSED_ANNOTATION]: "true" } }, { client: { provider: "None" } }),
      NOW + 70 * DAY_MS,
    ),
    told: [
      `certificate-expires: Secret my-etcd-peer-tls, ${PEER_ENDS}; the operator renews it only with a CA that every member trusts while the annotation etcd.improbable.io/paused is "true": end the pause`,
    ],
  },
  {
    name: "a failed renewal of cert-manager long before the certificate expires",
    given: requesting(managed, present(failing(request))),
    told: [`certificate-expires: ${UNRENEWED}`],
  },
  {
    name: "a failed renewal of cert-manager and the certificate that is about to expire",
    given: at(requesting(managed, present(failing(request))), NOW + 65 * DAY_MS),
    told: [
      `certificate-expires: Secret my-etcd-peer-tls-a3b319c8, the peer certificate of members, expires at 2026-03-22T12:00:00Z, and has not been renewed; ${UNRENEWED}`,
    ],
  },
  {
    name: "a certificate in use that is about to expire during a change of provider",
    given: begin(leaving)
      .apply(lasting)
      .apply(at, NOW + 65 * DAY_MS).snapshot,
    told: [`certificate-expires: Secret my-etcd-peer-tls, ${PEER_ENDS}`],
  },
  {
    name: "nothing about a certificate in use before half of the time for renewal is over",
    given: begin(leaving)
      .apply(lasting)
      .apply(at, NOW + 65 * DAY_MS - 1).snapshot,
    told: [],
  },
  {
    name: "a certificate in use that is late, although the requested renewBefore is shorter",
    given: begin(brought)
      .apply(goingTo, { ...BROUGHT, peer: { ...SHORT, duration: "12h" } })
      .apply(lasting)
      .apply(at, NOW + 65 * DAY_MS).snapshot,
    told: [`certificate-expires: Secret their-peer, ${PEER_ENDS}`],
  },
  {
    name: "the application's expiring certificate until members trust the requested CA",
    given: endingForApplications(turnedClients),
    told: [
      "certificate-expires: Secret my-etcd-client, the client certificate of applications, expires at 2026-01-02T12:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "nothing about the application's expiring certificate once members trust the requested CA",
    given: endingForApplications(clientsTrusting),
    told: [],
  },
  {
    name: "an expiring certificate that is both in use and requested only once",
    given: begin(sharing)
      .apply(withMade, { peer: { isOurs: false, lastsMs: 200 * DAY_MS } })
      .apply(at, NOW + 65 * DAY_MS).snapshot,
    told: [
      "certificate-expires: Secret their-server, the server certificate of members, expires at 2026-03-22T12:00:00Z; Secret their-operator, the client certificate of the operator, expires at 2026-03-22T12:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "a Certificate of another owner, and not its failed renewal",
    given: requesting(
      managed,
      present(failing({ ...request, metadata: { ...request.metadata, ownerReferences: [] } })),
    ),
    told: [expect.stringContaining("certificate-request: Certificate my-etcd-peer-tls-a3b319c8 exists already")],
  },
  {
    name: "nothing about a failed renewal while the Secret is missing",
    given: requesting(withSeen(managed, { peer: absent }), present(failing(request))),
    told: [],
  },
];

test.each(cases)("events about certificates report $name", ({ given, told }) => {
  expect(notices(given)).toEqual(told);
});

test("a plan without certificates names the certificate that members wait for", () => {
  const bare = unissued({ stage: "recorded", with: { headlessService: settled.headlessService } }, MANAGED);
  const plan = planCluster(bare);
  expect(plan).toMatchObject({
    next: "wait",
    because: "Secret foo/my-etcd-peer-tls-a3b319c8, the peer certificate of members, is about to be requested",
  });
  expect(planCluster({ ...bare, certificates: undefined })).toMatchObject({
    because: "Secret foo/my-etcd-peer-tls-a3b319c8 has not been read yet",
  });
});

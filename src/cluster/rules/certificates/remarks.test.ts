import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import { providerOf } from "#api/tls.ts";
import { absent, present } from "#base/observed.ts";
import { sideOf } from "#cluster/certificates/purposes.ts";
import { certificateRequest, trustMap } from "#cluster/desired/certificates.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";
import { born, NOW } from "#kit/cluster.ts";
import { withoutPeers, withStraggler } from "#kit/cluster-changes.ts";
import { goingTo, made, NEXT, secured, unissued, withMade, withSeen } from "#kit/cluster-tls.ts";
import { clientsTrusting, leaving, seenToo, turnedClients } from "#kit/cluster-turn.ts";
import type { Certificate, ConfigMap } from "#kube/kinds.ts";

// What people are told, while all else goes on.

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const settled = secured();
const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };
const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
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

function remarks(snapshot: ClusterSnapshot): readonly string[] {
  return (planCluster(snapshot).aside ?? []).map(({ rule, because }) => `${rule}: ${because}`);
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
  "exists already and is not this cluster's: it is never written; unless members show it, delete it, and what fills it";
const HOSTS = [0, 1, 2].map((n) => `my-etcd-${n}.my-etcd.foo.svc`);

/** cert-manager has tried, and could not. */
function failing(asked: Certificate): Certificate {
  const conditions = [{ type: "Issuing", status: "False", reason: "Failed", message: "no" }];
  return { ...asked, status: { conditions } };
}

const REFUSED = 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';
const UNRENEWED =
  "Secret my-etcd-peer-tls-a3b319c8 is not renewed: cert-manager says: no; kubectl -n foo describe certificaterequests tells more";

/** So many members are asked for. */
function wanting(snapshot: ClusterSnapshot, replicas: number): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, replicas } } };
}

/** Two of three have joined; the third is listed, has never started, and has no EtcdPeer. */
const straggling = withoutPeers(
  withStraggler(secured({ down: ["my-etcd-2"] }, BROUGHT, { isOurs: false }), { started: false }),
  "my-etcd-2",
);

const NOT_FILLED =
  "Secret foo/my-etcd-peer-tls-a3b319c8 exists already, and cert-manager has not filled it for Certificate my-etcd-peer-tls-a3b319c8 (annotation cert-manager.io/certificate-name): it is not written over; delete it, and what fills it";
const CA = "Secret foo/my-etcd-peer-ca";

const PEER_ENDS = "what members show to each other, ends at 2026-03-22T12:00:00Z, and has not been renewed";
const SHORT = { provider: "Operator", renewBefore: "4h" };

/** The snapshot in which all that is asked for lasts for long. */
function lasting(snapshot: ClusterSnapshot): ClusterSnapshot {
  const all = ["peer", "server", "operator", "application"] as const;
  const there = all.filter((purpose) => snapshot.certificates?.[purpose] !== undefined);
  const isOurs = (purpose: Purpose) => providerOf(snapshot.cluster.spec, sideOf(purpose)) === "Operator";
  const long = (purpose: Purpose) => ({ isOurs: isOurs(purpose), lastsMs: 200 * DAY_MS });
  return withMade(snapshot, Object.fromEntries(there.map((purpose) => [purpose, long(purpose)])));
}

/** What applications have of what is in use ends. */
function endingForApplications(snapshot: ClusterSnapshot): ClusterSnapshot {
  const application = present(made(secured(), "application", { lastsMs: DAY_MS }));
  return {
    ...snapshot,
    certificates: { ...snapshot.certificates, former: { ...snapshot.certificates?.former, application } },
  };
}

/** What cert-manager has renewed for applications no member believes. */
const doubted = seenToo(withMade(managedClient, { application: { isOurs: false, by: NEXT } }), {
  handout: present({ ...made(settled, "application"), certificateName: undefined }),
});

/** The operator is to show something else, and members what they do. */
const sharing = goingTo(brought, {
  ...BROUGHT,
  client: { provider: "Secret", secret: { ...secret, operatorClientSecretName: "other-operator" } },
});

const cases: { name: string; given: ClusterSnapshot; told: readonly string[] }[] = [
  { name: "nothing, while all is well", given: settled, told: [] },
  { name: "nor of what somebody else fills, whoever it belongs to", given: brought, told: [] },
  {
    name: "who has the name of an authority",
    given: withMade(settled, { peerCA: { isOurs: false, trouble: "it has no ca.crt" } }),
    told: [`authority: ${CA} ${FOREIGN}`],
  },
  {
    name: "that another authority was put in the place of the one that is trusted, and what to do",
    given: withMade(settled, { peerCA: { by: NEXT } }),
    told: [
      `authority: ${CA} signs nothing: its ca.crt lacks the authority by which Secret my-etcd-peer-tls is believed; add that, which EtcdPeers have under spec.tls.peer.trust, or put the former pair back, or delete it: then another authority is made, and members restart so that they trust both`,
    ],
  },
  {
    name: "for whom an authority that is lost waits",
    given: withoutPeers(withSeen(settled, { peerCA: absent, clientCA: absent }), "my-etcd-1"),
    told: [
      `authority: ${CA} is not there, and not made yet: my-etcd-1, whose EtcdPeers are gone, would not trust it; what is on a node that is gone for good ends when it is deleted by force: pod my-etcd-1-abcde`,
    ],
  },
  {
    name: "why applications go on with what they have",
    given: doubted,
    told: [
      "hand-out: Secret my-etcd-client does not get what Secret my-etcd-client-a3b319c8 holds: its tls.crt is signed by an authority that my-etcd-0, my-etcd-1, my-etcd-2 do not trust; have it signed as before until members trust both (ca.crt of what they show)",
    ],
  },
  {
    name: "what is wrong with an authority, and what to do",
    given: withMade(settled, { peerCA: { trouble: "it has no tls.key" } }),
    told: [
      `authority: ${CA} cannot sign: it has no tls.key; put it right, or delete it: then another authority is made, and members restart so that they trust both`,
    ],
  },
  {
    name: "that it must not be deleted while members could come to trust no other one",
    given: withSeen(withMade(settled, { peerCA: { trouble: "it has no tls.key" } }), { peer: absent }),
    told: [
      `authority: ${CA} cannot sign: it has no tls.key; put it right, and do not delete it: members could not come to trust another authority while Secret my-etcd-peer-tls is not there`,
    ],
  },
  {
    name: "that members could not come to trust an authority that was exchanged while what they show is not there, and what to do",
    given: withSeen(withMade(settled, { peerCA: { by: NEXT } }), { peer: absent }),
    told: [
      "authority: Secret foo/my-etcd-peer-tls, what members show to each other, is not there, and is not made: my-etcd-0, my-etcd-1, my-etcd-2 would not trust what Secret my-etcd-peer-ca signs; put the Secret back, or put into Secret my-etcd-peer-ca the pair of the authority that they trust, with its ca.crt; where neither is left, restore a backup into another EtcdCluster",
    ],
  },
  {
    name: "not of what nobody shows yet",
    given: withMade(unissued(), { peerCA: { by: NEXT } }),
    told: [],
  },
  {
    name: "who has the name of a certificate",
    given: withMade(settled, { server: { isOurs: false } }),
    told: [`leaf: Secret foo/my-etcd-server-tls ${FOREIGN}`],
  },
  {
    name: "who has the name of the ConfigMap",
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
    told: ["trust-map: ConfigMap my-etcd-ca exists already and is not this cluster's: nobody manages it; delete it"],
  },
  {
    name: "nothing of what cert-manager is asked for as it should be",
    given: requesting(managed, present(request)),
    told: [],
  },
  {
    name: "who is not added, and why",
    given: wanting(withMade(brought, { peer: { isOurs: false, names: HOSTS } }), 4),
    told: [
      "scale-up: 4 members are wanted and there are 3; my-etcd-3 is not added: Secret foo/their-peer: its tls.crt is not good for my-etcd-3.my-etcd.foo.svc",
    ],
  },
  {
    name: "who of the first members is not made once the others go on without",
    given: withMade(straggling, { server: { isOurs: false, names: HOSTS.slice(0, 2) } }),
    told: ["bootstrap: Secret foo/their-server: its tls.crt is not good for my-etcd-2.my-etcd.foo.svc"],
  },
  {
    name: "whose Secret cert-manager would write over",
    given: withMade(requesting(managed, absent), { peer: { isOurs: false, certificateName: undefined } }),
    told: [`certificate-request: ${NOT_FILLED}`],
  },
  {
    name: "nor of what it is not known to have written by a request of another name",
    given: withMade(requesting(managed, absent), { peer: { isOurs: false, certificateName: "another" } }),
    told: [`certificate-request: ${NOT_FILLED}`],
  },
  {
    name: "who has the name of what is asked for",
    given: requesting(managed, present({ ...request, metadata: { ...request.metadata, ownerReferences: [] } })),
    told: [
      "certificate-request: Certificate my-etcd-peer-tls-a3b319c8 exists already and is not this cluster's: nobody manages it; delete it",
    ],
  },
  {
    name: "that nobody knows the kind",
    given: requesting(managed, { is: "notServed" }),
    told: [
      "certificate-request: the provider is CertManager, and the API server knows no Certificates (certificates.cert-manager.io, v1): install cert-manager; it is looked for every five minutes",
    ],
  },
  {
    name: "nothing while that could not be asked",
    given: requesting(managed, { is: "unknown", why: "no answer" }),
    told: [],
  },
  {
    name: "who has the name of what applications are given",
    given: {
      ...managedClient,
      certificates: {
        ...managedClient.certificates,
        handout: present({ ...made(managedClient, "application"), secretName: "my-etcd-client", ownerUid: undefined }),
      },
    },
    told: [`hand-out: Secret foo/my-etcd-client ${FOREIGN}`],
  },
  {
    name: "nothing a moment before half of the time to renew is over",
    given: at(brought, NOW + 65 * DAY_MS - 1),
    told: [],
  },
  {
    name: "which right was taken away, and what gives it back",
    given: seenToo(settled, { refused: REFUSED }),
    told: [
      "right-missing: the operator may not get secrets in namespace foo; who may grant that does so by: kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls --user a",
    ],
  },
  {
    name: "that also while the cluster is paused",
    given: seenToo(secured({ annotations: { [PAUSED_ANNOTATION]: "true" } }), { refused: REFUSED }),
    told: [expect.stringMatching(/^right-missing: /) as never],
  },
  {
    name: "nothing of what could not be read for a while",
    given: seenToo(settled, { refused: "no answer" }),
    told: [],
  },
  {
    name: "what comes to its end and has not been renewed",
    given: at(
      withMade(brought, {
        server: { isOurs: false, lastsMs: 90 * DAY_MS },
        operator: { isOurs: false, lastsMs: 90 * DAY_MS },
      }),
      NOW + 65 * DAY_MS,
    ),
    told: [
      "certificate-ends: Secret their-peer, what members show to each other, ends at 2026-03-22T12:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "what has come to it",
    given: at(
      withMade(brought, {
        server: { isOurs: false, lastsMs: 200 * DAY_MS },
        operator: { isOurs: false, lastsMs: 81 * DAY_MS },
      }),
      NOW + 80 * DAY_MS,
    ),
    told: [
      "certificate-ends: Secret their-peer, what members show to each other, has ended at 2026-03-22T12:00:00Z; Secret their-operator, what the operator shows to members, ends at 2026-03-23T12:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "nothing of what people renew each week, until the last day or so of it",
    given: withMade(lasting(brought), {
      peer: { isOurs: false, lastsMs: 29 * HOUR_MS, lifeMs: 7 * DAY_MS },
      server: { isOurs: false, lastsMs: 28 * HOUR_MS, lifeMs: 7 * DAY_MS },
    }),
    told: [
      "certificate-ends: Secret their-server, what members show to clients, ends at 2026-01-02T16:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "what ends with the authority that has signed it",
    given: at(withMade(lasting(brought), { peer: { isOurs: false, lastsMs: 3_552 * DAY_MS } }), NOW + 3_540 * DAY_MS),
    told: [
      expect.stringContaining(
        "Secret their-peer, what members show to each other, ends at 2035-09-23T12:00:00Z, with the authority that has signed it",
      ) as never,
    ],
  },
  {
    name: "nothing of the end of what is no certificate",
    given: withMade(brought, { peer: { isOurs: false, trouble: "it has no tls.crt" } }),
    told: [],
  },
  {
    name: "that it is so because the cluster is paused",
    given: at(
      withMade(secured({ annotations: { [PAUSED_ANNOTATION]: "true" } }, { client: { provider: "None" } }), {}),
      NOW + 70 * DAY_MS,
    ),
    told: [
      "certificate-ends: Secret my-etcd-peer-tls, what members show to each other, ends at 2026-03-22T12:00:00Z, and has not been renewed, while the cluster is paused",
    ],
  },
  {
    name: "what cert-manager does not renew, long before it ends",
    given: requesting(managed, present(failing(request))),
    told: [`certificate-ends: ${UNRENEWED}`],
  },
  {
    name: "and when it ends, too",
    given: at(requesting(managed, present(failing(request))), NOW + 65 * DAY_MS),
    told: [
      `certificate-ends: Secret my-etcd-peer-tls-a3b319c8, what members show to each other, ends at 2026-03-22T12:00:00Z, and has not been renewed; ${UNRENEWED}`,
    ],
  },
  {
    name: "what is in use and ends, while something else is asked for",
    given: at(lasting(leaving), NOW + 65 * DAY_MS),
    told: [`certificate-ends: Secret my-etcd-peer-tls, ${PEER_ENDS}`],
  },
  {
    name: "nothing of that a moment before",
    given: at(lasting(leaving), NOW + 65 * DAY_MS - 1),
    told: [],
  },
  {
    name: "that by how long before it was to be renewed as it was asked for",
    given: at(lasting(goingTo(brought, { ...BROUGHT, peer: { ...SHORT, duration: "12h" } })), NOW + 65 * DAY_MS),
    told: [`certificate-ends: Secret their-peer, ${PEER_ENDS}`],
  },
  {
    name: "what applications have and ends, until members trust what is asked for",
    given: endingForApplications(turnedClients),
    told: [
      "certificate-ends: Secret my-etcd-client, what applications show to members, ends at 2026-01-02T12:00:00Z, and has not been renewed",
    ],
  },
  { name: "nothing of that once they do", given: endingForApplications(clientsTrusting), told: [] },
  {
    name: "once of what ends, and is in use as well as asked for",
    given: at(withMade(sharing, { peer: { isOurs: false, lastsMs: 200 * DAY_MS } }), NOW + 65 * DAY_MS),
    told: [
      "certificate-ends: Secret their-server, what members show to clients, ends at 2026-03-22T12:00:00Z; Secret their-operator, what the operator shows to members, ends at 2026-03-22T12:00:00Z, and has not been renewed",
    ],
  },
  {
    name: "nothing of a renewal that somebody else has asked for, but of whom",
    given: requesting(
      managed,
      present(failing({ ...request, metadata: { ...request.metadata, ownerReferences: [] } })),
    ),
    told: [expect.stringContaining("certificate-request: Certificate my-etcd-peer-tls-a3b319c8 exists already")],
  },
  {
    name: "nothing of a renewal of what is not there",
    given: requesting(withSeen(managed, { peer: absent }), present(failing(request))),
    told: [],
  },
];

test.each(cases)("people hear of certificates: $name", ({ given, told }) => {
  expect(remarks(given)).toEqual(told);
});

test("people hear for what members wait", () => {
  const bare = unissued({ stage: "recorded", with: { headlessService: settled.headlessService } }, MANAGED);
  const plan = planCluster(bare);
  expect(plan).toMatchObject({
    next: "wait",
    because: "Secret foo/my-etcd-peer-tls-a3b319c8, what members show to each other, is about to be asked for",
  });
  expect(planCluster({ ...bare, certificates: undefined })).toMatchObject({
    because: "Secret foo/my-etcd-peer-tls-a3b319c8 has not been read yet",
  });
});

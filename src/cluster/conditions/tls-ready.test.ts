import { describe, expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { certificateStatus, tlsReady } from "#cluster/conditions/tls-ready.ts";
import { certificateRequest } from "#cluster/desired/certificates.ts";
import { planCluster } from "#cluster/plan.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import { clusterStatus, failingStatus } from "#cluster/status.ts";
import { DAY_MS } from "#kit/certificates.ts";
import { born, cluster, NOW } from "#kit/cluster.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  secured,
  THEIRS,
  tlsSpec,
  unissued,
  withMade,
  withSeen,
} from "#kit/cluster-tls.ts";
import { lastTurns, leaving, seenToo } from "#kit/cluster-turn.ts";
import type { Certificate } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";

const settled = secured();
const first = unissued({ stage: "recorded" });
const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };
const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: { provider: "Secret", secret },
};
const brought = secured({}, BROUGHT, { isOurs: false, by: THEIRS });
/** As members have it whose Secrets cert-manager filled under the operator's own names. */
const ownNamed = secured(
  {},
  {
    peer: { provider: "Secret", secret: { secretName: "my-etcd-peer-tls" } },
    client: {
      provider: "Secret",
      secret: { serverSecretName: "my-etcd-server-tls", operatorClientSecretName: "my-etcd-operator-tls" },
    },
  },
  { isOurs: false, by: THEIRS },
);
const OPEN = { ...BROUGHT, client: { ...BROUGHT.client, verifyClients: false } };
const open = secured({}, OPEN, { isOurs: false, by: THEIRS });
const MANAGED = {
  peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } },
  client: { provider: "None" },
};
const managed = unissued({ stage: "recorded" }, MANAGED);

/** Nobody has said that EtcdClusters may have it. */
const UNLABELLED = { by: THEIRS, isOurs: false, mayBeShown: false };
const AUTHORITYS = { provider: "Secret", secret: { secretName: "other-peer-ca" } };
const bringing = unissued({ stage: "recorded" }, BROUGHT);

const PURPOSES = ["peerCA", "clientCA", "peer", "server", "operator", "application"] as const;

/** Nobody has granted the operator what it wants to do. */
function forbidden(verb: string, resource: string, group = ""): string {
  return `${verb} ${resource}: User "a" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "foo"`;
}

/** Somebody has taken spec.tls away. */
function taken(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const { tls: _, ...spec } = live.spec;
  return { ...snapshot, cluster: { ...live, spec, status: { ...live.status, ...certificateStatus(snapshot) } } };
}

function judged(snapshot: ClusterSnapshot, plan: Plan<never> = planCluster(snapshot) as Plan<never>) {
  return tlsReady({ snapshot, plan });
}

/** What members show to each other is in use, and not there, nor its authority. */
function losing(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { certificates } = snapshot;
  return {
    ...snapshot,
    certificates: { ...certificates, former: { ...certificates?.former, peer: absent, peerCA: absent } },
  };
}

/** cert-manager says this of what it is asked for. */
function saying(conditions: readonly object[], change: object = {}): ClusterSnapshot {
  const request = { ...born<Certificate>(certificateRequest(managed, "peer")), ...change, status: { conditions } };
  return { ...managed, certificates: { ...managed.certificates, requests: { peer: present(request as Certificate) } } };
}

/** The same of what it is to renew. */
function renewing(conditions: readonly object[]): ClusterSnapshot {
  const whole = secured({}, MANAGED, { isOurs: false });
  const { requests } = saying(conditions).certificates ?? {};
  return { ...whole, certificates: { ...whole.certificates, requests } as never };
}

const failed = { type: "Issuing", status: "False", reason: "Failed", message: "the issuer is away" };
const unready = {
  type: "Ready",
  status: "False",
  reason: "DoesNotExist",
  message: "Issuing certificate as Secret does not exist",
};

const cases: { name: string; given: ClusterSnapshot; status: string; reason: string; says: string }[] = [
  {
    name: "all is well",
    given: settled,
    status: "True",
    reason: "CertificatesValid",
    says: "6 certificates are good; the first one to end, in Secret my-etcd-peer-tls, does at 2026-03-22T12:00:00Z",
  },
  {
    name: "all is well, and spec.tls is taken away from members that go on",
    given: taken(settled),
    status: "True",
    reason: "CertificatesValid",
    says: "6 certificates are good",
  },
  {
    name: "what is wrong is told as long as members go by it",
    given: taken(withSeen(settled, { operator: absent })),
    status: "False",
    reason: "CertificatesPending",
    says: "Secret foo/my-etcd-operator-tls, what the operator shows to members, is about to be made",
  },
  {
    name: "somebody else has filled what cert-manager is to fill",
    given: withMade(managed, { peer: { isOurs: false, certificateName: undefined } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-peer-tls-a3b319c8 exists already, and cert-manager has not filled it for Certificate my-etcd-peer-tls-a3b319c8",
  },
  {
    name: "clients need show nothing, and so what members show them is no client's",
    given: withMade(open, { server: { by: THEIRS, isOurs: false, usages: ["serverAuth"] } }),
    status: "True",
    reason: "CertificatesValid",
    says: "3 certificates are good",
  },
  {
    name: "what they show is a server's in any case",
    given: withMade(open, { server: { by: THEIRS, isOurs: false, usages: ["clientAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not good for servers (serverAuth)",
  },
  {
    name: "where clients show something it is a client's, too",
    given: withMade(brought, { server: { by: THEIRS, isOurs: false, usages: ["serverAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not good for clients (clientAuth)",
  },
  {
    name: "what members show to each other is clients' all the same",
    given: withMade(open, { peer: { by: THEIRS, isOurs: false, usages: ["serverAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not good for clients (clientAuth)",
  },
  {
    name: "nobody has looked",
    given: { ...settled, certificates: undefined },
    status: "Unknown",
    reason: "Waiting",
    says: "Secret foo/my-etcd-peer-ca has not been read yet",
  },
  {
    name: "one could not be read",
    given: withSeen(settled, { server: unknown("no right") }),
    status: "Unknown",
    reason: "Waiting",
    says: "Secret foo/my-etcd-server-tls could not be read: no right",
  },
  {
    name: "none may be read, for lack of a right: that is told once, with what grants it",
    given: withSeen(first, Object.fromEntries(PURPOSES.map((each) => [each, unknown(forbidden("get", "secrets"))]))),
    status: "Unknown",
    reason: "RightMissing",
    says: "the operator may not get secrets in namespace foo; who may grant that does so by: kubectl create rolebinding",
  },
  {
    name: "a right was taken away, and all counts as it was seen before",
    given: seenToo(settled, { refused: forbidden("get", "secrets") }),
    status: "Unknown",
    reason: "RightMissing",
    says: "the operator may not get secrets in namespace foo; who may grant that does so by: kubectl create rolebinding",
  },
  {
    name: "a right was granted again, and something else has been in the way since",
    given: seenToo(settled, { refused: "HTTP 500" }),
    status: "Unknown",
    reason: "Waiting",
    says: "what might not be read before could not be read: HTTP 500",
  },
  {
    name: "a right was taken away, and what was seen before is wrong",
    given: seenToo(withMade(settled, { peer: { trouble: "it has no tls.key", isOurs: true } }), {
      refused: forbidden("get", "secrets"),
    }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-peer-tls, what members show to each other: it has no tls.key",
  },
  {
    name: "what is known to be wrong counts more",
    given: withSeen(withMade(settled, { peer: { trouble: "it has no tls.key", isOurs: true } }), {
      server: unknown("no right"),
    }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-peer-tls, what members show to each other: it has no tls.key",
  },
  {
    name: "they are about to be made",
    given: first,
    status: "False",
    reason: "CertificatesPending",
    says: "Secret foo/my-etcd-peer-ca, the authority by which members know each other, is about to be made",
  },
  {
    name: "somebody else's is not there",
    given: withSeen(brought, { peer: absent }),
    status: "False",
    reason: "CertificateMissing",
    says: "Secret foo/their-peer, what members show to each other, is not there; make it, with tls.crt, tls.key and ca.crt",
  },
  {
    name: "what is in use is lost, with what could sign it again, while something else is asked for",
    given: losing(goingTo(settled, BROUGHT)),
    status: "False",
    reason: "CertificateMissing",
    says: "cannot sign another one; members go on with it, and none restarts until it is there again: put it back; Secret foo/their-peer",
  },
  {
    name: "somebody else's is not for EtcdClusters, whatever else is wrong with it",
    given: withMade(bringing, {
      peer: { ...UNLABELLED, trouble: "it has no tls.key" },
      server: { by: THEIRS, isOurs: false },
    }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "Secret foo/their-peer, what members show to each other: it does not say that EtcdClusters may have it: kubectl -n foo label secret their-peer etcd.improbable.io/tls=true",
  },
  {
    name: "nor what the operator is to show",
    given: withMade(brought, { operator: UNLABELLED }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "kubectl -n foo label secret their-operator etcd.improbable.io/tls=true",
  },
  {
    name: "somebody else's is an authority's",
    given: withMade(unissued({ stage: "recorded" }, { ...BROUGHT, peer: AUTHORITYS }), { peer: UNLABELLED }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "its name is that of an authority of an EtcdCluster, whose key nobody gets; it must be another Secret",
  },
  {
    name: "cert-manager has filled it for the cluster, as an earlier operator asked for: nobody has named it",
    given: withMade(ownNamed, { peer: { ...UNLABELLED, certificateName: "my-etcd-peer-tls" } }),
    status: "True",
    reason: "CertificatesValid",
    says: "3 certificates are good",
  },
  {
    name: "cert-manager has filled it for somebody else",
    given: withMade(ownNamed, { peer: { ...UNLABELLED, certificateName: "other" } }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "label secret my-etcd-peer-tls",
  },
  {
    name: "cert-manager has filled what people name",
    given: withMade(brought, { peer: { ...UNLABELLED, certificateName: "their-peer" } }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "label secret their-peer",
  },
  {
    name: "members have what is not for EtcdClusters any more",
    given: withMade(brought, { peer: UNLABELLED }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "label secret their-peer etcd.improbable.io/tls=true; who has it already keeps it",
  },
  {
    name: "what they have has ended, besides",
    given: withMade(brought, { peer: { ...UNLABELLED, lastsMs: 0 } }),
    status: "False",
    reason: "CertificateExpired",
    says: "Secret foo/their-peer, what members show to each other, has ended",
  },
  {
    name: "somebody else's is half a pair",
    given: withMade(brought, { peer: { by: THEIRS, trouble: "it has no tls.crt" } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "it has no tls.crt",
  },
  {
    name: "its key is another one's",
    given: withMade(brought, { server: { by: THEIRS, trouble: "its tls.key is not the key of its tls.crt" } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-server, what members show to clients: its tls.key is not the key of its tls.crt",
  },
  {
    name: "its authority is another one",
    given: withMade(brought, { server: { by: THEIRS, trust: bundle(OWN) } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is signed by none of its ca.crt",
  },
  {
    name: "it is not good for a member",
    given: withMade(brought, {
      peer: { by: THEIRS, names: ["my-etcd-0.my-etcd.foo.svc", "my-etcd-2.my-etcd.foo.svc"] },
    }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not good for my-etcd-1.my-etcd.foo.svc",
  },
  {
    name: "it is not good for clients",
    given: withMade(brought, { operator: { by: THEIRS, usages: ["serverAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-operator, what the operator shows to members: its tls.crt is not good for clients (clientAuth), by its extended key usage",
  },
  {
    name: "it is not good for servers",
    given: withMade(brought, { peer: { by: THEIRS, usages: ["clientAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "not good for servers (serverAuth)",
  },
  {
    name: "it has ended",
    given: withMade(brought, { server: { by: THEIRS, lastsMs: 0 } }),
    status: "False",
    reason: "CertificateExpired",
    says: "Secret foo/their-server, what members show to clients, has ended at 2026-01-01T12:00:00Z",
  },
  {
    name: "it begins later",
    given: { ...brought, takenAtMs: NOW - 101 * DAY_MS },
    status: "False",
    reason: "CertificateInvalid",
    says: "is good only from 2025-09-23T12:00:00Z on",
  },
  {
    name: "members do not trust who has signed it",
    given: withMade(brought, { peer: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-peer: its tls.crt is signed by an authority that my-etcd-0, my-etcd-1, my-etcd-2 do not trust yet",
  },
  ...(["server", "operator"] as const).map((purpose) => ({
    name: `members do not trust who has signed that of ${purpose}`,
    given: withMade(brought, { [purpose]: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: `Secret foo/their-${purpose}: its tls.crt is signed by an authority that my-etcd-0, my-etcd-1, my-etcd-2 do not trust yet`,
  })),
  {
    name: "nor who has signed that of applications",
    given: withMade(settled, { application: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-client: its tls.crt is signed by an authority that my-etcd-0",
  },
  {
    name: "what nobody asks clients for may be signed by anybody",
    given: withMade(open, { operator: { by: NEXT } }),
    status: "True",
    reason: "CertificatesValid",
    says: "certificates are good",
  },
  {
    name: "that of applications, too",
    given: withMade(secured({}, { client: { verifyClients: false } }), { application: { by: NEXT } }),
    status: "True",
    reason: "CertificatesValid",
    says: "certificates are good",
  },
  {
    name: "what servers show may not",
    given: withMade(open, { server: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-server: its tls.crt is signed by an authority that",
  },
  {
    name: "a name is taken",
    given: withMade(settled, { clientCA: { isOurs: false } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-client-ca exists already and is not this cluster's: it is never written; unless members show it, delete it, and what fills it",
  },
  {
    name: "cert-manager has yet to be asked",
    given: managed,
    status: "False",
    reason: "CertificatesPending",
    says: "is about to be asked for",
  },
  {
    name: "cert-manager is at it",
    given: saying([unready]),
    status: "False",
    reason: "CertificatesPending",
    says: "Certificate my-etcd-peer-tls-a3b319c8 asks for it; cert-manager says: Issuing certificate as Secret does not exist; kubectl -n foo describe certificaterequests tells more",
  },
  {
    name: "cert-manager has said nothing yet",
    given: saying([]),
    status: "False",
    reason: "CertificatesPending",
    says: "Certificate my-etcd-peer-tls-a3b319c8 asks for it",
  },
  {
    name: "cert-manager has failed",
    given: saying([unready, failed]),
    status: "False",
    reason: "IssuerFailed",
    says: "Issuing certificate as Secret does not exist; the issuer is away",
  },
  {
    name: "somebody has denied what cert-manager is asked for",
    given: saying([unready, { ...failed, reason: "policy.example.com", message: "not for you" }]),
    status: "False",
    reason: "IssuerFailed",
    says: "not for you",
  },
  {
    name: "cert-manager does not renew what is good",
    given: renewing([failed]),
    status: "True",
    reason: "CertificatesValid",
    says: "; Secret my-etcd-peer-tls-a3b319c8 is not renewed: cert-manager says: the issuer is away; kubectl -n foo describe certificaterequests tells more",
  },
  {
    name: "what is asked for is somebody else's",
    given: saying([], { metadata: { namespace: "foo", name: "my-etcd-peer-tls", uid: "a" } }),
    status: "False",
    reason: "CertificateMissing",
    says: "Certificate my-etcd-peer-tls exists already",
  },
  {
    name: "nobody knows its kind",
    given: { ...managed, certificates: { ...managed.certificates, requests: { peer: { is: "notServed" } } } },
    status: "False",
    reason: "IssuerFailed",
    says: "the API server knows no Certificates",
  },
  {
    name: "what is asked for could not be read",
    given: { ...managed, certificates: { ...managed.certificates, requests: { peer: unknown("no right") } } },
    status: "Unknown",
    reason: "Waiting",
    says: "its Certificate could not be read: no right",
  },
  {
    name: "what is asked for may not be read",
    given: {
      ...managed,
      certificates: {
        ...managed.certificates,
        requests: { peer: unknown(forbidden("get", "certificates", "cert-manager.io")) },
      },
    },
    status: "Unknown",
    reason: "RightMissing",
    says: "the operator may not get certificates.cert-manager.io in namespace foo; ",
  },
];

describe("TLSReady", () => {
  test.each(cases)("when $name", ({ given, status, reason, says }) => {
    const verdict = judged(given);
    expect(verdict).toMatchObject({ status, reason });
    expect(verdict?.message).toContain(says);
  });

  test("names all that is wrong, the worst first", () => {
    const verdict = judged(withMade(withSeen(brought, { peer: absent }), { server: { by: THEIRS, lastsMs: 0 } }));
    expect(verdict?.reason).toBe("CertificateMissing");
    expect(verdict?.message).toMatch(/their-peer.*; .*their-server/);
    const mixed = judged(withMade(withSeen(first, {}), { peerCA: { isOurs: false } }));
    expect(mixed?.reason).toBe("CertificateInvalid");
  });

  test("names what only people can clear away before what is under way, and that before what nobody knows", () => {
    const messages = (given: ClusterSnapshot) => judged(given)?.message ?? "";
    const pending = withSeen(settled, { peerCA: unknown("no"), server: absent });
    expect(judged(pending)).toMatchObject({ status: "False", reason: "CertificatesPending" });
    expect(messages(pending)).not.toContain("peer-ca");
    const unbound = withSeen(settled, { peerCA: unknown(forbidden("get", "secrets")), server: absent });
    expect(judged(unbound)).toMatchObject({ status: "Unknown", reason: "RightMissing" });
    const taken = withMade(withSeen(settled, { peerCA: absent }), { server: { isOurs: false } });
    expect(judged(taken)?.reason).toBe("CertificateInvalid");
    expect(messages(taken)).toMatch(/peer-ca.*server-tls/);
  });

  test("names a right that is missing once, also where it is to write", () => {
    const all = withSeen(
      first,
      Object.fromEntries(PURPOSES.map((each) => [each, unknown(forbidden("get", "secrets"))])),
    );
    expect(judged(all)?.message.split("kubectl")).toHaveLength(2);
    const refused = { rule: "authority", because: forbidden("create", "secrets"), is: "refused" } as const;
    const verdict = judged(first, { next: "settled", aside: [refused] });
    expect(verdict).toMatchObject({ status: "False", reason: "RightMissing" });
    expect(verdict?.message).toMatch(/^authority: the operator may not create secrets in namespace foo; .*kubectl/);
  });

  test("what only a person can clear away before there are members is told by Ready and Progressing, too", () => {
    const { headlessService } = secured();
    const seenBy = (found: ReturnType<typeof unknown>) =>
      withSeen({ ...first, headlessService }, Object.fromEntries(PURPOSES.map((each) => [each, found])));
    const told = (given: ClusterSnapshot) => {
      const { conditions } = clusterStatus(given, planCluster(given));
      return ["Ready", "Progressing"].map((type) => conditions?.find((each) => each.type === type));
    };
    const lacking = seenBy(unknown(forbidden("get", "secrets")));
    const waiting = { next: "wait", rule: "await-certificates" };
    // As often as it is read.
    expect(planCluster(lacking)).toMatchObject({ ...waiting, warn: true, recheckAfterMs: 10_000 });
    for (const condition of told(lacking)) {
      expect(condition).toMatchObject({ status: "False", reason: "RightMissing" });
      expect(condition?.message).toContain("kubectl create rolebinding");
    }
    const unread = seenBy(unknown("it is away"));
    expect(planCluster(unread)).toMatchObject({ ...waiting, warn: false, recheckAfterMs: 2_000 });
    expect(told(unread)[0]).toMatchObject({ status: "False", reason: "Forming" });
  });

  test("of what cert-manager says only what is wrong counts", () => {
    const said = (...conditions: object[]) => judged(saying(conditions));
    expect(said({ type: "Ready", status: "True", message: "up to date" })?.message).not.toContain("cert-manager says");
    expect(said({ ...failed, type: "Ready" })?.reason).toBe("CertificatesPending");
    expect(said({ ...failed, status: "True" })?.reason).toBe("CertificatesPending");
    expect(said(failed)?.reason).toBe("IssuerFailed");
  });

  test("is true from the moment on at which a certificate begins", () => {
    expect(judged({ ...brought, takenAtMs: NOW - 100 * DAY_MS })?.status).toBe("True");
  });

  test("says when members do not believe whom they know by it, the operator among them", () => {
    const given = withMade(brought, { operator: { by: NEXT, isOurs: false } });
    expect(judged(given)?.message).toContain(
      "Secret foo/their-operator: its tls.crt is signed by an authority that my-etcd-0",
    );
  });

  test("says what is refused", () => {
    const refused = { rule: "leaf", because: "a quota", is: "refused" } as const;
    expect(judged(first, { next: "settled", aside: [refused] })).toEqual({
      status: "False",
      reason: "StepRefused",
      message: "leaf: a quota",
    });
    expect(judged(first, { next: "settled", aside: [{ ...refused, is: "remark" }] })?.reason).toBe(
      "CertificatesPending",
    );
    expect(judged(first, { next: "settled", aside: [{ ...refused, rule: "pod-monitor" }] })?.reason).toBe(
      "CertificatesPending",
    );
    expect(judged(settled, { next: "settled", aside: [refused] })?.reason).toBe("CertificatesValid");
    const one = withSeen(settled, { peer: absent });
    for (const rule of ["authority", "leaf", "certificate-request", "hand-out", "rotate-authority"])
      expect(judged(one, { next: "settled", aside: [{ ...refused, rule }] })?.reason).toBe("StepRefused");
  });

  test("says why the operator does not make what is not there", () => {
    const given = withMade(withSeen(settled, { peer: absent }), { peerCA: { by: NEXT } });
    expect(judged(given)).toMatchObject({ status: "False", reason: "CertificateMissing" });
    expect(judged(given)?.message).toContain(
      "Secret foo/my-etcd-peer-tls, what members show to each other, is not there, and is not made: my-etcd-0, my-etcd-1, my-etcd-2 would not trust what Secret my-etcd-peer-ca signs; put the Secret back",
    );
    expect(judged(withSeen(settled, { peer: absent }))?.reason).toBe("CertificatesPending");
  });

  test("is not told of a cluster without TLS", () => {
    expect(judged(cluster())).toBeUndefined();
    expect(certificateStatus(cluster())).toEqual({});
  });

  test("says that it is over when nobody speaks TLS any more, and what is left", () => {
    const told = { type: "TLSReady", status: "False", reason: "CertificatesPending", message: "" } as const;
    const conditions = [{ ...told, observedGeneration: 1, lastTransitionTime: "2026-01-01T11:00:00Z" }];
    const plain = cluster();
    const given = { ...plain, cluster: { ...plain.cluster, status: { ...plain.cluster.status, conditions } } };
    expect(judged(given)).toEqual({
      status: "True",
      reason: "TLSDisabled",
      message:
        "no member speaks TLS any more; the operator deletes no Secret: those that it filled, and ConfigMap my-etcd-ca, may be deleted",
    });
    const metadata = { ...given.cluster.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" };
    expect(judged({ ...given, cluster: { ...given.cluster, metadata } })).toBeUndefined();
    const others = [{ ...conditions[0]!, type: "Ready" }];
    const status = { ...plain.cluster.status, conditions: others };
    expect(judged({ ...given, cluster: { ...plain.cluster, status } })).toBeUndefined();
  });

  test("is not known while no look comes to its end", () => {
    const told = {
      type: "TLSReady",
      status: "True",
      reason: "CertificatesValid",
      message: "",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-01T11:00:00Z",
    } as const;
    const status = failingStatus({ ...settled.cluster, status: { conditions: [told] } }, "it fails", NOW);
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: "TLSReady", status: "Unknown" }));
  });
});

describe("status.certificates", () => {
  test("has each Secret, when it ends and whom it trusts", () => {
    const { certificates = [] } = certificateStatus(settled);
    expect(certificates.map(({ name }) => name)).toEqual([
      "my-etcd-peer-ca",
      "my-etcd-peer-tls",
      "my-etcd-client-ca",
      "my-etcd-server-tls",
      "my-etcd-operator-tls",
      "my-etcd-client",
    ]);
    expect(certificates[1]).toMatchObject({ notAfter: "2026-03-22T12:00:00Z", trust: [OWN.id] });
    expect(certificates[1]?.issuer).toMatch(/^CN=own [0-9a-f]{12}$/);
  });

  test("has what somebody else fills once it is for EtcdClusters, and as long as members have it", () => {
    const names = (snapshot: ClusterSnapshot) => certificateStatus(snapshot).certificates?.map(({ name }) => name);
    const all = { peer: UNLABELLED, server: { by: THEIRS, isOurs: false } };
    expect(names(withMade(bringing, all))).toEqual(["their-server"]);
    expect(names(withMade(brought, { ...all, operator: UNLABELLED }))).toEqual(["their-peer", "their-server"]);
    const { cluster: known } = brought;
    const status = { ...known.status, certificates: certificateStatus(brought).certificates! };
    const given = { ...brought, cluster: { ...known, status } };
    expect(names(withMade(given, { operator: UNLABELLED }))).toContain("their-operator");
  });

  test("has what is in use, and what is asked for besides, each of them once", () => {
    const turned = withMade(goingTo(settled, { peer: BROUGHT.peer }), { peer: { by: THEIRS, isOurs: false } });
    const names = certificateStatus(turned).certificates?.map(({ name }) => name);
    expect(names?.filter((name) => name.includes("peer"))).toEqual([
      "their-peer",
      "my-etcd-peer-ca",
      "my-etcd-peer-tls",
    ]);
    expect(names?.filter((name) => name === "my-etcd-server-tls")).toHaveLength(1);
  });

  test("has what some members show that was asked for in between", () => {
    const { cluster: live } = lastTurns;
    const peer = { provider: "Secret", secret: { secretName: "third-peer" } };
    const asks = { ...lastTurns, cluster: { ...live, spec: { ...live.spec, tls: tlsSpec({ peer }) } } };
    const their = made(leaving, "peer", { by: THEIRS, isOurs: false });
    const known = [{ name: "their-peer", notAfter: "2026-01-02T00:00:00Z", issuer: "CN=a" }];
    const told = (between: object | undefined, certificates: typeof known = []) => {
      const status = { ...asks.cluster.status, certificates };
      const given = {
        ...withSeen(asks, { peer: absent }),
        cluster: { ...asks.cluster, status },
        certificates: { ...asks.certificates, peer: absent, ...between },
      };
      return certificateStatus(given).certificates?.find(({ name }) => name === "their-peer");
    };
    expect(told({ between: { peer: present(their) } })).toEqual({
      name: "their-peer",
      notAfter: "2026-03-22T12:00:00Z",
      issuer: their.issuerName,
      trust: [THEIRS.id],
    });
    expect(told({ between: { peer: present({ ...their, notAfterMs: 0 }) } }, known)).toBeUndefined();
    expect(told({ between: { peer: absent } }, known)).toBeUndefined();
    expect(told({ between: { peer: unknown("no answer") } }, known)).toEqual(known[0]);
    expect(told(undefined, known)).toEqual(known[0]);
    expect(told(undefined)).toBeUndefined();
  });

  test("leaves out what is not there or cannot be read as one, and keeps what could not be read", () => {
    const told = certificateStatus(settled).certificates!;
    const given = withMade(withSeen(settled, { peer: absent, operator: unknown("no answer") }), {
      server: { trouble: "it has no tls.crt" },
    });
    const untrusting = certificateStatus(withMade(settled, { peer: { trust: "" } })).certificates;
    expect(untrusting?.find(({ name }) => name === "my-etcd-peer-tls")).not.toHaveProperty("trust");
    const names = (snapshot: ClusterSnapshot) => certificateStatus(snapshot).certificates?.map(({ name }) => name);
    expect(names(given)).toEqual(["my-etcd-peer-ca", "my-etcd-client-ca", "my-etcd-client"]);
    const recorded = {
      ...given,
      cluster: { ...given.cluster, status: { ...given.cluster.status, certificates: told } },
    };
    expect(names(recorded)).toEqual(["my-etcd-peer-ca", "my-etcd-client-ca", "my-etcd-operator-tls", "my-etcd-client"]);
    expect(isOwned(given, given.peers[0]!)).toBe(true);
  });
});

import { describe, expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import { clusterStatus, failingStatus } from "#cluster/status.ts";
import { certificateRequest } from "#cluster-tls/issue/desired/certificates.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { DAY_MS } from "#kit/snapshots/certificates.ts";
import { born, cluster, NOW } from "#kit/snapshots/cluster.ts";
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
} from "#kit/snapshots/cluster-tls.ts";
import { lastTurns, leaving, seenToo } from "#kit/snapshots/provider-change.ts";
import type { Certificate } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";
import { tlsReady } from "./tls-ready.ts";
import { tlsStatus } from "./tls-status.ts";

const settled = secured();
const first = unissued({ stage: "recorded" });
const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: { provider: "Secret", secret },
};
const brought = secured({}, BROUGHT, { isOurs: false, by: THEIRS });
/** Members with Secrets that cert-manager filled under the operator's own names. */
const ownNamed = secured(
  {},
  {
    peer: { provider: "Secret", secret: { name: "my-etcd-peer-tls" } },
    client: {
      provider: "Secret",
      secret: { server: { name: "my-etcd-server-tls" }, operator: { name: "my-etcd-operator-tls" } },
    },
  },
  { isOurs: false, by: THEIRS },
);
const OPEN = { ...BROUGHT, client: { ...BROUGHT.client, clientCertificates: "NotRequired" } };
const open = secured({}, OPEN, { isOurs: false, by: THEIRS });
const MANAGED = {
  peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } },
  client: { provider: "None" },
};
const managed = unissued({ stage: "recorded" }, MANAGED);

/** The Secret has no consent for EtcdClusters. */
const UNLABELLED = { by: THEIRS, isOurs: false, mayBeShown: false };
const AUTHORITYS = { provider: "Secret", secret: { name: "other-peer-ca" } };
const bringing = unissued({ stage: "recorded" }, BROUGHT);

const PURPOSES = ["peerCA", "clientCA", "peer", "server", "operator", "application"] as const;

/** The operator lacks a right. */
function forbidden(verb: string, resource: string, group = ""): string {
  return `${verb} ${resource}: User "a" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "foo"`;
}

/** spec.tls was removed. */
function taken(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const { tls: _, ...spec } = live.spec;
  return { ...snapshot, cluster: { ...live, spec, status: { ...live.status, ...tlsStatus(snapshot) } } };
}

function recordedIn(snapshot: ClusterSnapshot) {
  return tlsStatus(snapshot).tls?.certificates;
}

function judged(snapshot: ClusterSnapshot, plan: Plan<never> = planCluster(snapshot) as Plan<never>) {
  return tlsReady({ snapshot, plan });
}

/** The peer Secret is in use and missing, and so is its CA. */
function losing(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { certificates } = snapshot;
  return {
    ...snapshot,
    certificates: { ...certificates, previous: { ...certificates?.previous, peer: absent, peerCA: absent } },
  };
}

/** The Certificate has this condition. */
function saying(conditions: readonly object[], change: object = {}): ClusterSnapshot {
  const request = { ...born<Certificate>(certificateRequest(managed, "peer")), ...change, status: { conditions } };
  return { ...managed, certificates: { ...managed.certificates, requests: { peer: present(request as Certificate) } } };
}

/** The Certificate has this condition, with an existing Secret. */
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
    name: "all certificates are valid",
    given: settled,
    status: "True",
    reason: "CertificatesValid",
    says: "6 certificates are valid; the first to expire, in Secret my-etcd-peer-tls, does so at 2026-03-22T12:00:00Z",
  },
  {
    name: "all certificates are valid and spec.tls was removed from running members",
    given: taken(settled),
    status: "True",
    reason: "CertificatesValid",
    says: "6 certificates are valid",
  },
  {
    name: "a certificate is missing and spec.tls was removed from running members",
    given: begin(settled).apply(withSeen, { operator: absent }).apply(taken).snapshot,
    status: "False",
    reason: "CertificatesPending",
    says: "Secret foo/my-etcd-operator-tls, the client certificate of the operator, is about to be created",
  },
  {
    name: "cert-manager has not filled a Secret that it should fill",
    given: withMade(managed, { peer: { isOurs: false, certificateName: undefined } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-peer-tls-a3b319c8 exists already, and cert-manager has not filled it for Certificate my-etcd-peer-tls-a3b319c8",
  },
  {
    name: "clients need no certificate and the server certificate is valid only for servers",
    given: withMade(open, { server: { by: THEIRS, isOurs: false, usages: ["serverAuth"] } }),
    status: "True",
    reason: "CertificatesValid",
    says: "3 certificates are valid",
  },
  {
    name: "the server certificate is valid only for clients",
    given: withMade(open, { server: { by: THEIRS, isOurs: false, usages: ["clientAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not valid for servers (serverAuth)",
  },
  {
    name: "clients need a certificate and the server certificate is valid only for servers",
    given: withMade(brought, { server: { by: THEIRS, isOurs: false, usages: ["serverAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not valid for clients (clientAuth)",
  },
  {
    name: "the peer certificate is valid only for servers",
    given: withMade(open, { peer: { by: THEIRS, isOurs: false, usages: ["serverAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not valid for clients (clientAuth)",
  },
  {
    name: "no Secret was read",
    given: { ...settled, certificates: undefined },
    status: "Unknown",
    reason: "Waiting",
    says: "Secret foo/my-etcd-peer-ca has not been read yet",
  },
  {
    name: "one Secret could not be read",
    given: withSeen(settled, { server: unknown("no right") }),
    status: "Unknown",
    reason: "Waiting",
    says: "Secret foo/my-etcd-server-tls could not be read: no right",
  },
  {
    name: "the operator has no right to read Secrets",
    given: withSeen(first, Object.fromEntries(PURPOSES.map((each) => [each, unknown(forbidden("get", "secrets"))]))),
    status: "Unknown",
    reason: "RightMissing",
    says: "the operator may not get secrets in namespace foo; an administrator grants it with: kubectl create rolebinding",
  },
  {
    name: "the right to read Secrets was revoked and certificates read before are valid",
    given: seenToo(settled, { refused: forbidden("get", "secrets") }),
    status: "Unknown",
    reason: "RightMissing",
    says: "the operator may not get secrets in namespace foo; an administrator grants it with: kubectl create rolebinding",
  },
  {
    name: "Secrets cannot be read because of an error other than a missing right",
    given: seenToo(settled, { refused: "HTTP 500" }),
    status: "Unknown",
    reason: "Waiting",
    says: "the Secrets could not be read: HTTP 500",
  },
  {
    name: "the right to read Secrets was revoked and a certificate read before is invalid",
    given: begin(settled)
      .apply(withMade, { peer: { trouble: "it has no tls.key", isOurs: true } })
      .apply(seenToo, {
        refused: forbidden("get", "secrets"),
      }).snapshot,
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-peer-tls, the peer certificate of members: it has no tls.key",
  },
  {
    name: "one certificate is invalid and another Secret could not be read",
    given: begin(settled)
      .apply(withMade, { peer: { trouble: "it has no tls.key", isOurs: true } })
      .apply(withSeen, {
        server: unknown("no right"),
      }).snapshot,
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-peer-tls, the peer certificate of members: it has no tls.key",
  },
  {
    name: "certificates are about to be created",
    given: first,
    status: "False",
    reason: "CertificatesPending",
    says: "Secret foo/my-etcd-peer-ca, the CA of peer certificates, is about to be created",
  },
  {
    name: "a user-provided Secret is missing",
    given: withSeen(brought, { peer: absent }),
    status: "False",
    reason: "CertificateMissing",
    says: "Secret foo/their-peer, the peer certificate of members, is missing; create it, with tls.crt, tls.key and ca.crt",
  },
  {
    name: "the Secret in use and its CA are lost during a change",
    given: begin(settled).apply(goingTo, BROUGHT).apply(losing).snapshot,
    status: "False",
    reason: "CertificateMissing",
    says: "cannot sign a new one; members keep using it, and none restarts until it exists again: restore it; Secret foo/their-peer",
  },
  {
    name: "a user-provided Secret lacks consent and has no key",
    given: withMade(bringing, {
      peer: { ...UNLABELLED, trouble: "it has no tls.key" },
      server: { by: THEIRS, isOurs: false },
    }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "Secret foo/their-peer, the peer certificate of members: it lacks the label that lets EtcdClusters use it: kubectl -n foo label secret their-peer etcd.improbable.io/tls=true",
  },
  {
    name: "the operator's user-provided Secret lacks consent",
    given: withMade(brought, { operator: UNLABELLED }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "kubectl -n foo label secret their-operator etcd.improbable.io/tls=true",
  },
  {
    name: "spec.tls names the CA Secret of another cluster",
    given: withMade(unissued({ stage: "recorded" }, { ...BROUGHT, peer: AUTHORITYS }), { peer: UNLABELLED }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "it has the name of an EtcdCluster's CA, and the key of a CA must stay private; use another Secret",
  },
  {
    name: "spec.tls names an own Secret that cert-manager filled for another Certificate",
    given: withMade(ownNamed, { peer: { ...UNLABELLED, certificateName: "other" } }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "label secret my-etcd-peer-tls",
  },
  {
    name: "a user-provided Secret that cert-manager filled lacks consent",
    given: withMade(brought, { peer: { ...UNLABELLED, certificateName: "their-peer" } }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "label secret their-peer",
  },
  {
    name: "the consent of a Secret in use was removed",
    given: withMade(brought, { peer: UNLABELLED }),
    status: "False",
    reason: "SecretNotAllowed",
    says: "label secret their-peer etcd.improbable.io/tls=true; members that use it already keep it",
  },
  {
    name: "the consent of a Secret in use was removed, and its certificate has expired",
    given: withMade(brought, { peer: { ...UNLABELLED, lastsMs: 0 } }),
    status: "False",
    reason: "CertificateExpired",
    says: "Secret foo/their-peer, the peer certificate of members, has expired",
  },
  {
    name: "a user-provided Secret has no certificate",
    given: withMade(brought, { peer: { by: THEIRS, trouble: "it has no tls.crt" } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "it has no tls.crt",
  },
  {
    name: "a key belongs to a different certificate",
    given: withMade(brought, { server: { by: THEIRS, trouble: "its tls.key is not the key of its tls.crt" } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-server, the server certificate of members: its tls.key is not the key of its tls.crt",
  },
  {
    name: "a certificate is not signed by its ca.crt",
    given: withMade(brought, { server: { by: THEIRS, trust: bundle(OWN) } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not signed by any CA in its ca.crt",
  },
  {
    name: "a certificate is not valid for a member",
    given: withMade(brought, {
      peer: { by: THEIRS, names: ["my-etcd-0.my-etcd.foo.svc", "my-etcd-2.my-etcd.foo.svc"] },
    }),
    status: "False",
    reason: "CertificateInvalid",
    says: "its tls.crt is not valid for my-etcd-1.my-etcd.foo.svc",
  },
  {
    name: "a certificate is not valid for clients",
    given: withMade(brought, { operator: { by: THEIRS, usages: ["serverAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-operator, the client certificate of the operator: its tls.crt is not valid for clients (clientAuth), by its extended key usage",
  },
  {
    name: "a certificate is not valid for servers",
    given: withMade(brought, { peer: { by: THEIRS, usages: ["clientAuth"] } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "not valid for servers (serverAuth)",
  },
  {
    name: "a certificate has expired",
    given: withMade(brought, { server: { by: THEIRS, lastsMs: 0 } }),
    status: "False",
    reason: "CertificateExpired",
    says: "Secret foo/their-server, the server certificate of members, has expired at 2026-01-01T12:00:00Z",
  },
  {
    name: "a certificate is not valid yet",
    given: { ...brought, takenAtMs: NOW - 101 * DAY_MS },
    status: "False",
    reason: "CertificateInvalid",
    says: "is not valid before 2025-09-23T12:00:00Z",
  },
  {
    name: "members do not trust the CA of the peer certificate",
    given: withMade(brought, { peer: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-peer: its tls.crt is signed by a CA that my-etcd-0, my-etcd-1, my-etcd-2 do not trust yet",
  },
  ...(["server", "operator"] as const).map((purpose) => ({
    name: `members do not trust the signer of the ${purpose} certificate`,
    given: withMade(brought, { [purpose]: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: `Secret foo/their-${purpose}: its tls.crt is signed by a CA that my-etcd-0, my-etcd-1, my-etcd-2 do not trust yet`,
  })),
  {
    name: "members do not trust the CA of the application's certificate",
    given: withMade(settled, { application: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-client: its tls.crt is signed by a CA that my-etcd-0",
  },
  {
    name: "members require no client certificates and the operator's is signed by another CA",
    given: withMade(open, { operator: { by: NEXT } }),
    status: "True",
    reason: "CertificatesValid",
    says: "certificates are valid",
  },
  {
    name: "members require no client certificates and the application's is signed by another CA",
    given: withMade(secured({}, { client: { clientCertificates: "NotRequired" } }), { application: { by: NEXT } }),
    status: "True",
    reason: "CertificatesValid",
    says: "certificates are valid",
  },
  {
    name: "members do not trust the CA of the server certificate",
    given: withMade(open, { server: { by: NEXT } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/their-server: its tls.crt is signed by a CA that",
  },
  {
    name: "the Secret of a CA belongs to another owner",
    given: withMade(settled, { clientCA: { isOurs: false } }),
    status: "False",
    reason: "CertificateInvalid",
    says: "Secret foo/my-etcd-client-ca exists already and does not belong to this cluster: it is not overwritten; unless members use it, delete it and whatever creates it",
  },
  {
    name: "the Certificate for cert-manager is about to be created",
    given: managed,
    status: "False",
    reason: "CertificatesPending",
    says: "is about to be requested",
  },
  {
    name: "cert-manager is issuing",
    given: saying([unready]),
    status: "False",
    reason: "CertificatesPending",
    says: "Certificate my-etcd-peer-tls-a3b319c8 requests it; cert-manager reports: Issuing certificate as Secret does not exist; kubectl -n foo describe certificaterequests shows more",
  },
  {
    name: "cert-manager has reported nothing yet",
    given: saying([]),
    status: "False",
    reason: "CertificatesPending",
    says: "Certificate my-etcd-peer-tls-a3b319c8 requests it",
  },
  {
    name: "cert-manager has failed",
    given: saying([unready, failed]),
    status: "False",
    reason: "IssuerFailed",
    says: "Issuing certificate as Secret does not exist; the issuer is away",
  },
  {
    name: "the CertificateRequest was denied",
    given: saying([unready, { ...failed, reason: "policy.example.com", message: "not for you" }]),
    status: "False",
    reason: "IssuerFailed",
    says: "not for you",
  },
  {
    name: "cert-manager does not renew a valid certificate",
    given: renewing([failed]),
    status: "True",
    reason: "CertificatesValid",
    says: "; Secret my-etcd-peer-tls-a3b319c8 is not renewed: cert-manager reports: the issuer is away; kubectl -n foo describe certificaterequests shows more",
  },
  {
    name: "the Certificate belongs to another owner",
    given: saying([], { metadata: { namespace: "foo", name: "my-etcd-peer-tls", uid: "a" } }),
    status: "False",
    reason: "CertificateMissing",
    says: "Certificate my-etcd-peer-tls exists already",
  },
  {
    name: "cert-manager is not installed",
    given: { ...managed, certificates: { ...managed.certificates, requests: { peer: { is: "notServed" } } } },
    status: "False",
    reason: "IssuerFailed",
    says: "the API server knows no Certificates",
  },
  {
    name: "the Certificate could not be read",
    given: { ...managed, certificates: { ...managed.certificates, requests: { peer: unknown("no right") } } },
    status: "Unknown",
    reason: "Waiting",
    says: "its Certificate could not be read: no right",
  },
  {
    name: "the Certificate may not be read",
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
  test.each(cases)("is $status with reason $reason when $name", ({ given, status, reason, says }) => {
    const verdict = judged(given);
    expect(verdict).toMatchObject({ status, reason });
    expect(verdict?.message).toContain(says);
  });

  test("names all problems, and has the reason of the most severe one", () => {
    const verdict = judged(
      begin(brought)
        .apply(withSeen, { peer: absent })
        .apply(withMade, { server: { by: THEIRS, lastsMs: 0 } }).snapshot,
    );
    expect(verdict?.reason).toBe("CertificateMissing");
    expect(verdict?.message).toMatch(/their-peer.*; .*their-server/);
    const mixed = judged(
      begin(first)
        .apply(withSeen, {})
        .apply(withMade, { peerCA: { isOurs: false } }).snapshot,
    );
    expect(mixed?.reason).toBe("CertificateInvalid");
  });

  test("reports problems for users before pending certificates, and these before unread Secrets", () => {
    const messages = (given: ClusterSnapshot) => judged(given)?.message ?? "";
    const pending = withSeen(settled, { peerCA: unknown("no"), server: absent });
    expect(judged(pending)).toMatchObject({ status: "False", reason: "CertificatesPending" });
    expect(messages(pending)).not.toContain("peer-ca");
    const unbound = withSeen(settled, { peerCA: unknown(forbidden("get", "secrets")), server: absent });
    expect(judged(unbound)).toMatchObject({ status: "Unknown", reason: "RightMissing" });
    const taken = begin(settled)
      .apply(withSeen, { peerCA: absent })
      .apply(withMade, { server: { isOurs: false } }).snapshot;
    expect(judged(taken)?.reason).toBe("CertificateInvalid");
    expect(messages(taken)).toMatch(/peer-ca.*server-tls/);
  });

  test("names a missing right once, also for writing", () => {
    const all = withSeen(
      first,
      Object.fromEntries(PURPOSES.map((each) => [each, unknown(forbidden("get", "secrets"))])),
    );
    expect(judged(all)?.message.split("kubectl")).toHaveLength(2);
    const refused = { rule: "issue-ca", because: forbidden("create", "secrets"), is: "refused" } as const;
    const verdict = judged(first, { next: "settled", reports: [refused] });
    expect(verdict).toMatchObject({ status: "False", reason: "RightMissing" });
    expect(verdict?.message).toMatch(/^issue-ca: the operator may not create secrets in namespace foo; .*kubectl/);
  });

  test("a problem that only a user can fix is also in Ready and Progressing before there are members", () => {
    const { headlessService } = secured();
    const seenBy = (found: ReturnType<typeof unknown>) =>
      withSeen({ ...first, headlessService }, Object.fromEntries(PURPOSES.map((each) => [each, found])));
    const told = (given: ClusterSnapshot) => {
      const { conditions } = clusterStatus(given, planCluster(given));
      return ["Ready", "Progressing"].map((type) => conditions?.find((each) => each.type === type));
    };
    const lacking = seenBy(unknown(forbidden("get", "secrets")));
    const waiting = { next: "wait", rule: "await-certificates" };
    // The recheck is as frequent as the reads.
    expect(planCluster(lacking)).toMatchObject({ ...waiting, warn: true, recheckAfterMs: 10_000 });
    for (const condition of told(lacking)) {
      expect(condition).toMatchObject({ status: "False", reason: "RightMissing" });
      expect(condition?.message).toContain("kubectl create rolebinding");
    }
    const unread = seenBy(unknown("it is away"));
    expect(planCluster(unread)).toMatchObject({ ...waiting, warn: false, recheckAfterMs: 2_000 });
    expect(told(unread)[0]).toMatchObject({ status: "False", reason: "Forming" });
  });

  test("reports only failures of cert-manager", () => {
    const said = (...conditions: object[]) => judged(saying(conditions));
    expect(said({ type: "Ready", status: "True", message: "up to date" })?.message).not.toContain(
      "cert-manager reports",
    );
    expect(said({ ...failed, type: "Ready" })?.reason).toBe("CertificatesPending");
    expect(said({ ...failed, status: "True" })?.reason).toBe("CertificatesPending");
    expect(said(failed)?.reason).toBe("IssuerFailed");
  });

  test("is True from notBefore of a certificate on", () => {
    expect(judged({ ...brought, takenAtMs: NOW - 100 * DAY_MS })?.status).toBe("True");
  });

  test("reports that members do not trust the CA of the operator's certificate", () => {
    const given = withMade(brought, { operator: { by: NEXT, isOurs: false } });
    expect(judged(given)?.message).toContain("Secret foo/their-operator: its tls.crt is signed by a CA that my-etcd-0");
  });

  test("reports refused steps about certificates while a certificate is missing", () => {
    const refused = { rule: "issue-certificate", because: "a quota", is: "refused" } as const;
    expect(judged(first, { next: "settled", reports: [refused] })).toEqual({
      status: "False",
      reason: "StepRefused",
      message: "issue-certificate: a quota",
    });
    expect(judged(first, { next: "settled", reports: [{ ...refused, is: "notice" }] })?.reason).toBe(
      "CertificatesPending",
    );
    expect(judged(first, { next: "settled", reports: [{ ...refused, rule: "pod-monitor" }] })?.reason).toBe(
      "CertificatesPending",
    );
    expect(judged(settled, { next: "settled", reports: [refused] })?.reason).toBe("CertificatesValid");
    const one = withSeen(settled, { peer: absent });
    for (const rule of ["issue-ca", "issue-certificate", "certificate-request", "publish-client-secret", "rotate-ca"])
      expect(judged(one, { next: "settled", reports: [{ ...refused, rule }] })?.reason).toBe("StepRefused");
  });

  test("reports why the operator does not create a missing Secret", () => {
    const given = begin(settled)
      .apply(withSeen, { peer: absent })
      .apply(withMade, { peerCA: { by: NEXT } }).snapshot;
    expect(judged(given)).toMatchObject({ status: "False", reason: "CertificateMissing" });
    expect(judged(given)?.message).toContain(
      "Secret foo/my-etcd-peer-tls, the peer certificate of members, is missing and is not created: my-etcd-0, my-etcd-1, my-etcd-2 would not trust the CA in Secret my-etcd-peer-ca; restore the Secret",
    );
    expect(judged(withSeen(settled, { peer: absent }))?.reason).toBe("CertificatesPending");
  });

  test("does not exist for a cluster without TLS", () => {
    expect(judged(cluster())).toBeUndefined();
    expect(tlsStatus(cluster())).toEqual({ tls: { peer: { scheme: "http" }, client: { scheme: "http" } } });
  });

  test("the scheme of peers is observed when spec.tls is removed and a scheme is recorded", () => {
    const { tls: _, ...spec } = settled.cluster.spec;
    const status = { ...settled.cluster.status, tls: { peer: { scheme: "http" as const } } };
    const given = { ...settled, cluster: { ...settled.cluster, spec, status } };
    expect(tlsStatus(given).tls?.peer?.scheme).toBe("https");
  });

  test("reports TLSDisabled after TLS was turned off, with the objects that are left over", () => {
    const told = { type: "TLSReady", status: "False", reason: "CertificatesPending", message: "" } as const;
    const conditions = [{ ...told, observedGeneration: 1, lastTransitionTime: "2026-01-01T11:00:00Z" }];
    const plain = cluster();
    const given = { ...plain, cluster: { ...plain.cluster, status: { ...plain.cluster.status, conditions } } };
    expect(judged(given)).toEqual({
      status: "True",
      reason: "TLSDisabled",
      message:
        "no member uses TLS any more; the operator deletes no Secret: you may delete those that it created, and ConfigMap my-etcd-ca",
    });
    const metadata = { ...given.cluster.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" };
    expect(judged({ ...given, cluster: { ...given.cluster, metadata } })).toBeUndefined();
    const others = [{ ...conditions[0]!, type: "Ready" }];
    const status = { ...plain.cluster.status, conditions: others };
    expect(judged({ ...given, cluster: { ...plain.cluster, status } })).toBeUndefined();
  });

  test("is Unknown while no observation completes", () => {
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

describe("status.tls.certificates", () => {
  test("has each Secret with the expiry and the CAs of its certificate", () => {
    const certificates = recordedIn(settled) ?? [];
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

  test("has a user-provided Secret once it has consent, and as long as it is in use", () => {
    const names = (snapshot: ClusterSnapshot) => recordedIn(snapshot)?.map(({ name }) => name);
    const all = { peer: UNLABELLED, server: { by: THEIRS, isOurs: false } };
    expect(names(withMade(bringing, all))).toEqual(["their-server"]);
    expect(names(withMade(brought, { ...all, operator: UNLABELLED }))).toEqual(["their-peer", "their-server"]);
    const { cluster: known } = brought;
    const status = { ...known.status, tls: { ...known.status?.tls, certificates: recordedIn(brought)! } };
    const given = { ...brought, cluster: { ...known, status } };
    expect(names(withMade(given, { operator: UNLABELLED }))).toContain("their-operator");
  });

  test("has the Secrets in use and the requested ones without duplicates", () => {
    const turned = begin(settled)
      .apply(goingTo, { peer: BROUGHT.peer })
      .apply(withMade, { peer: { by: THEIRS, isOurs: false } }).snapshot;
    const names = recordedIn(turned)?.map(({ name }) => name);
    expect(names?.filter((name) => name.includes("peer"))).toEqual([
      "their-peer",
      "my-etcd-peer-ca",
      "my-etcd-peer-tls",
    ]);
    expect(names?.filter((name) => name === "my-etcd-server-tls")).toHaveLength(1);
  });

  test("has the Secret of an abandoned change", () => {
    const { cluster: live } = lastTurns;
    const peer = { provider: "Secret", secret: { name: "third-peer" } };
    const asks = { ...lastTurns, cluster: { ...live, spec: { ...live.spec, tls: tlsSpec({ peer }) } } };
    const their = made(leaving, "peer", { by: THEIRS, isOurs: false });
    const known = [{ name: "their-peer", notAfter: "2026-01-02T00:00:00Z", issuer: "CN=a" }];
    const told = (abandoned: object | undefined, certificates: typeof known = []) => {
      const status = { ...asks.cluster.status, tls: { ...asks.cluster.status?.tls, certificates } };
      const given = {
        ...withSeen(asks, { peer: absent }),
        cluster: { ...asks.cluster, status },
        certificates: { ...asks.certificates, peer: absent, ...abandoned },
      };
      return recordedIn(given)?.find(({ name }) => name === "their-peer");
    };
    expect(told({ abandoned: { peer: present(their) } })).toEqual({
      name: "their-peer",
      notAfter: "2026-03-22T12:00:00Z",
      issuer: their.issuerName,
      trust: [THEIRS.id],
    });
    expect(told({ abandoned: { peer: present({ ...their, notAfterMs: 0 }) } }, known)).toBeUndefined();
    expect(told({ abandoned: { peer: absent } }, known)).toBeUndefined();
    expect(told({ abandoned: { peer: unknown("no answer") } }, known)).toEqual(known[0]);
    expect(told(undefined, known)).toEqual(known[0]);
    expect(told(undefined)).toBeUndefined();
  });

  test("leaves out missing and invalid certificates, and keeps recorded ones that could not be read", () => {
    const told = recordedIn(settled)!;
    const given = begin(settled)
      .apply(withSeen, { peer: absent, operator: unknown("no answer") })
      .apply(withMade, {
        server: { trouble: "it has no tls.crt" },
      }).snapshot;
    const untrusting = recordedIn(withMade(settled, { peer: { trust: "" } }));
    expect(untrusting?.find(({ name }) => name === "my-etcd-peer-tls")).not.toHaveProperty("trust");
    const names = (snapshot: ClusterSnapshot) => recordedIn(snapshot)?.map(({ name }) => name);
    expect(names(given)).toEqual(["my-etcd-peer-ca", "my-etcd-client-ca", "my-etcd-client"]);
    const recorded = {
      ...given,
      cluster: { ...given.cluster, status: { ...given.cluster.status, tls: { certificates: told } } },
    };
    expect(names(recorded)).toEqual(["my-etcd-peer-ca", "my-etcd-client-ca", "my-etcd-operator-tls", "my-etcd-client"]);
    expect(isOwned(given, given.peers[0]!)).toBe(true);
  });
});

import { expect, test } from "vitest";
import { ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, issuedFacts, NEXT, OWN, signerOf, userLook } from "#kit/access.ts";
import { born, NOW } from "#kit/cluster.ts";
import { bundle } from "#kit/cluster-tls.ts";
import { planText } from "#kit/plan-text.ts";
import type { Certificate } from "#kube/kinds.ts";
import { bindingRequest } from "#user/desired/request.ts";
import { planUser, USER_RULES } from "#user/plan.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import { userStatus } from "#user/status.ts";
import { targetTextOf, type UserStep } from "#user/step.ts";

const stepText = (step: UserStep) => `${step.do} ${targetTextOf(step)}`.trim();
const DAY_MS = 86_400_000;
const look = userLook;
const byCertificate = { spec: { authentication: "Certificate" } };
const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ca" } } } };
const BROUGHT = { client: { provider: "Secret", secret: { serverSecretName: "a", operatorClientSecretName: "b" } } };
const OPEN = { client: { verifyClients: false } };
const PLAIN = etcdOf(null);
const MANAGED = etcdOf(CERT_MANAGER);
const PAUSED = etcdOf({}, { spec: { paused: true } });
const NAMELESS = etcdOf({}, { status: { identity: undefined } });
const GOING = etcdOf({}, { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } });
const asks = { annotations: { [ROTATE_CREDENTIALS_ANNOTATION]: "1" } };
const going = { deleting: true };
const daily = { rotation: { every: "24h" } };
const silent = { access: unknown("silent"), found: unknown("silent") };
const unasked = { access: absent, found: absent } as const;
const nobody = { found: absent, password: absent } as const;
const LONG = { passwordTrouble: "its password has 73 bytes" };
const WRITE = "write-binding: writeBinding app-binding";
const other = (metadata: object) => {
  const request = born<Certificate>(bindingRequest(look().user, MANAGED));
  return { ...request, metadata: { ...request.metadata, ...metadata } };
};

/** As a user of this name by password has left it, and one by certificate. */
const LEFT = present(issuedFacts({ fingerprint: "left" }));
const LEFT_NAMED = present(issuedFacts({ fingerprint: "left", commonName: "shop-ro" }));
/** What cert-manager is asked for, and says that it has made. */
const readyFor = (given: Parameters<typeof look>[0]) => {
  const request = born<Certificate>(bindingRequest(look(given).user, MANAGED));
  return present({ ...request, status: { conditions: [{ type: "Ready", status: "True" }] } });
};

const cases: readonly { name: string; given: UserSnapshot; expect: string; says?: string }[] = [
  { name: "all is done", given: look(), expect: "settled", says: "True Bound" },
  { name: "by certificate, too", given: look(byCertificate), expect: "settled", says: "True Bound" },
  { name: "and without TLS", given: look({ cluster: PLAIN }), expect: "settled", says: "True Bound" },
  { name: "and with cert-manager", given: look({ cluster: MANAGED }), expect: "settled", says: "True Bound" },
  { name: "while auth is not enabled, that is told", given: look({ with: { access: present({ enabled: false }) } }), expect: "settled", says: "True AuthDisabled" },
  { name: "nothing is made without a finalizer", given: look({ held: false, claimed: false, bound: null, with: nobody }), expect: "hold-user: holdUser", says: "False Applying" },
  { name: "that it is this object's is on record first", given: look({ claimed: false, bound: null, with: nobody }), expect: "claim-user: claimUser app" },
  { name: "its Secret comes before etcd has the password", given: look({ bound: null, with: nobody }), expect: `${WRITE} new issue` },
  { name: "then it is made", given: look({ with: nobody }), expect: "add-user: addUser app 90" },
  { name: "by the name of the spec", given: look({ spec: { userName: "u" }, with: nobody }), expect: "add-user: addUser u 90" },
  { name: "without a password, by certificate", given: look({ ...byCertificate, with: nobody }), expect: "add-user: addUser app" },
  { name: "what it has beyond the spec is revoked", given: look({ with: { found: present(["reader", "root"]) } }), expect: "revoke-role: revokeRole app root" },
  { name: "what it lacks is granted", given: look({ with: { found: present([]) } }), expect: "grant-role: grantRole app reader" },
  { name: "but for what is not there", given: look({ with: { found: present([]), missingRoles: ["reader"] } }), expect: "wait: await-role", says: "False RoleMissing" },
  { name: "of which it gets the others", given: look({ spec: { roles: ["gone", "reader"] }, with: { found: present([]), missingRoles: ["gone"] } }), expect: "grant-role: grantRole app reader" },
  { name: "a password that etcd does not have is set", given: look({ with: { password: present("differs") } }), expect: "set-password: setPassword app 90", says: "False Applying" },
  { name: "one that etcd cannot take, anew", given: look({ with: { password: present("none") } }), expect: "remake-user: deleteUser app" },
  { name: "one that etcd would refuse is told", given: look({ bound: LONG, with: { password: absent } }), expect: "warn: await-password", says: "False PasswordRefused" },
  { name: "and not given to it, with a user that is to be made", given: look({ bound: LONG, with: nobody }), expect: "warn: await-password" },
  { name: "where nobody logs in by it, it goes", given: look({ ...byCertificate, bound: { ...LONG, hasPassword: true } }), expect: `${WRITE} none keep` },
  { name: "while it cannot go yet, it hinders nothing", given: look({ ...byCertificate, bound: { ...LONG, hasPassword: true }, pair: { trouble: "t" }, with: { signer: absent } }), expect: "wait: await-certificate" },
  { name: "a new one follows when somebody asks", given: look({ ...asks, bound: LONG, with: { password: absent } }), expect: `${WRITE} new keep` },
  { name: "a long one of somebody else is nothing to us", given: look({ bound: { ...LONG, ownerUid: "other" }, with: { password: absent } }), expect: "warn: binding-taken" },
  { name: "what could not be asked about it waits", given: look({ with: { password: unknown("silent") } }), expect: "wait: await-etcd", says: "Unknown EtcdUnreachable" },
  { name: "what somebody else has made is left alone", given: look({ claimed: false }), expect: "warn: name-taken", says: "False NameTaken" },
  { name: "so is what it has made in an etcd that was here before", given: look({ claimed: "elsewhere" }), expect: "warn: name-taken", says: "False NameTaken" },
  { name: "where it makes another one", given: look({ claimed: "elsewhere", with: nobody }), expect: "claim-user: claimUser app" },
  { name: "unless it is to be taken over", given: look({ claimed: false, spec: { takeOver: true } }), expect: "claim-user: claimUser app" },
  { name: "of two objects the older one has it", given: look({ with: { elder: "other" } }), expect: "warn: name-taken", says: "False NameTaken" },
  { name: "the operator's own user is nobody's", given: look({ spec: { userName: "etcd-cluster-operator" } }), expect: "warn: refuse-user", says: "False SpecRefused" },
  { name: "nor is the one that the operator is about to be", given: look({ cluster: etcdOf({}, { status: { auth: { enabled: true, operators: ["app"] } } }) }), expect: "warn: refuse-user", says: "False SpecRefused" },
  { name: "by certificate without TLS: refused", given: look({ ...byCertificate, cluster: PLAIN }), expect: "warn: refuse-user", says: "False SpecRefused" },
  { name: "where nobody here signs its binding goes on to say whom to trust", given: look({ ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } }), expect: "tell-trust: writeBinding app-binding none none", says: "False SpecRefused" },
  { name: "where nobody here signs: refused", given: look({ ...byCertificate, cluster: etcdOf(BROUGHT) }), expect: "warn: refuse-user", says: "False SpecRefused" },
  { name: "where no certificate is asked for: refused", given: look({ ...byCertificate, cluster: etcdOf(OPEN) }), expect: "warn: refuse-user", says: "False SpecRefused" },
  { name: "a password where nobody here signs", given: look({ cluster: etcdOf(BROUGHT) }), expect: "settled", says: "True Bound" },
  { name: "without a cluster nothing is done", given: look({ cluster: undefined, with: unasked }), expect: "wait: await-cluster", says: "False ClusterNotFound" },
  { name: "nor in one that is paused", given: look({ cluster: PAUSED, with: unasked }), expect: "wait: await-cluster", says: "False Paused" },
  { name: "nor while etcd is silent", given: look({ with: silent }), expect: "wait: await-etcd", says: "Unknown EtcdUnreachable" },
  { name: "a Secret of somebody else is left alone", given: look({ bound: { ownerUid: "other" } }), expect: "warn: binding-taken", says: "False NameTaken" },
  { name: "a Secret of nobody, too", given: look({ bound: { ownerUid: undefined } }), expect: "warn: binding-taken", says: "False NameTaken" },
  { name: "one that could not be read is waited for", given: look({ with: { binding: unknown("away"), password: absent } }), expect: "wait: await-binding", says: "False Waiting" },
  { name: "binding: without a password it gets one", given: look({ bound: { hasPassword: false } }), expect: `${WRITE} new keep` },
  { name: "binding: with one that nobody wants, none", given: look({ ...byCertificate, bound: { hasPassword: true } }), expect: `${WRITE} none keep` },
  { name: "binding: a text that somebody has changed", given: look({ bound: { texts: { type: "mysql" } } }), expect: `${WRITE} keep keep` },
  { name: "binding: a prefix that is new", given: look({ spec: { keyPrefix: "orders/" }, bound: { texts: look().binding.is === "present" ? (look().binding as never as { value: { texts: object } }).value.texts as never : {} } }), expect: `${WRITE} keep keep` },
  { name: "binding: a certificate that nobody wants", given: look({ cluster: PLAIN, bound: { texts: { ...(look({ cluster: PLAIN }).binding as never as { value: { texts: object } }).value.texts, "tls.crt": "x" } } }), expect: `${WRITE} keep none` },
  { name: "rotation: when somebody asks", given: look(asks), expect: `${WRITE} new keep` },
  { name: "rotation: once", given: look({ ...asks, bound: { rotatedFor: "1" } }), expect: "settled" },
  { name: "rotation: and again for another value", given: look({ ...asks, bound: { rotatedFor: "0" } }), expect: `${WRITE} new keep` },
  { name: "rotation: when it is old", given: look({ spec: daily }), expect: `${WRITE} new keep` },
  { name: "rotation: not before", given: look({ spec: daily, bound: { rotatedAtMs: NOW - DAY_MS + 1 } }), expect: "settled" },
  { name: "rotation: when it does not say how old", given: look({ spec: daily, bound: { rotatedAtMs: undefined } }), expect: `${WRITE} new keep` },
  { name: "rotation: of a certificate, when somebody asks", given: look({ ...byCertificate, ...asks }), expect: `${WRITE} none issue` },
  { name: "rotation: of a certificate, when it is old", given: look({ spec: { ...byCertificate.spec, ...daily } }), expect: `${WRITE} none issue` },
  { name: "pair: when there is none", given: look({ pair: null }), expect: `${WRITE} keep issue` },
  { name: "pair: when it is of no use", given: look({ pair: { trouble: "its tls.key is not the key" } }), expect: `${WRITE} keep issue` },
  { name: "pair: when it was made for something else", given: look({ pair: { madeFor: "other" } }), expect: `${WRITE} keep issue` },
  { name: "pair: when another authority signs", given: look({ with: { signer: present(signerOf(NEXT)) } }), expect: `${WRITE} keep issue` },
  { name: "pair: but not while some member does not believe that one", given: look({ with: { signer: present(signerOf(NEXT)), doubters: ["my-etcd-0"] } }), expect: "settled" },
  { name: "pair: until its end", given: look({ pair: { notAfterMs: NOW + 1 }, with: { signer: present(signerOf(NEXT)), doubters: ["my-etcd-0"] } }), expect: "settled" },
  { name: "pair: what has ended works no more", given: look({ pair: { notAfterMs: NOW }, with: { signer: present(signerOf(NEXT)), doubters: ["my-etcd-0"] } }), expect: `${WRITE} keep issue` },
  { name: "pair: when it ends", given: look({ pair: { notAfterMs: NOW + 30 * DAY_MS } }), expect: `${WRITE} keep issue` },
  { name: "pair: not long before", given: look({ pair: { notAfterMs: NOW + 30 * DAY_MS + 1 } }), expect: "settled" },
  { name: "pair: nor by an authority that ends no later", given: look({ pair: { notAfterMs: NOW + DAY_MS }, with: { signer: present(signerOf(undefined, { notAfterMs: NOW + DAY_MS })) } }), expect: "settled" },
  { name: "pair: while the authority is away, what works stays", given: look({ pair: { notAfterMs: NOW }, with: { signer: absent } }), expect: "settled" },
  { name: "pair: while it is of no use, too", given: look({ pair: { notAfterMs: NOW }, with: { signer: present(signerOf(undefined, { trouble: "t" })) } }), expect: "settled" },
  { name: "pair: without an authority there is none", given: look({ bound: null, with: { ...nobody, signer: absent } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "pair: and no Secret while it is not known whom to trust", given: look({ bound: null, with: { ...nobody, trust: undefined } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "pair: a user by certificate is made all the same", given: look({ ...byCertificate, bound: null, with: { ...nobody, signer: absent } }), expect: "add-user: addUser app" },
  { name: "pair: whom to trust by now", given: look({ with: { trust: bundle(NEXT) } }), expect: `${WRITE} keep keep` },
  { name: "cert-manager is asked", given: look({ cluster: MANAGED, bound: null, with: { ...nobody, request: absent, signer: absent } }), expect: expect.stringMatching(/^request-certificate: requestCertificate app-binding-tls /) as never },
  { name: "cert-manager is asked anew when another one is wanted", given: look({ cluster: etcdOf({ client: { provider: "CertManager", certManager: { issuerRef: { name: "new" } } } }), with: { request: present(other({ ownerReferences: [{ controller: true, uid: "uid-of-app" }] })) } }), expect: expect.stringMatching(/^request-certificate: /) as never },
  { name: "cert-manager is not asked to write over a Secret of somebody else", given: look({ cluster: MANAGED, bound: null, with: { ...nobody, request: absent, signer: absent, isIssuedTaken: true } }), expect: "warn: binding-taken", says: "False NameTaken" },
  { name: "where it was asked, its word is waited for all the same", given: look({ cluster: MANAGED, bound: null, with: { ...nobody, signer: absent, isIssuedTaken: true } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "cert-manager is waited for", given: look({ cluster: MANAGED, bound: null, with: { ...nobody, signer: absent } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "cert-manager: what it has made is copied", given: look({ cluster: MANAGED, bound: null, with: nobody }), expect: `${WRITE} new copy` },
  { name: "cert-manager: and what it has made anew", given: look({ cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "newer" })) } }), expect: `${WRITE} keep copy` },
  { name: "cert-manager: but not what is of no use", given: look({ cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "newer", trouble: "t" })) } }), expect: "settled" },
  { name: "cert-manager: nor what some member would not believe", given: look({ cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "newer" })), doubters: ["my-etcd-0"] } }), expect: "settled" },
  { name: "cert-manager: nor what somebody else has asked for", given: look({ cluster: MANAGED, bound: null, with: { ...nobody, request: present({ ...other({ ownerReferences: [{ controller: true, uid: "other" }] }) }) } }), expect: "wait: await-certificate" },
  { name: "cert-manager: nor what is left of another user", given: look({ ...byCertificate, cluster: MANAGED, bound: null, with: { signer: LEFT } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "cert-manager: also when that is what the issuer makes", given: look({ ...byCertificate, cluster: MANAGED, bound: null, with: { signer: LEFT, request: readyFor(byCertificate) } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "cert-manager: while there is nothing else, what is good stays", given: look({ ...byCertificate, cluster: MANAGED, with: { signer: LEFT } }), expect: "settled", says: "True Bound" },
  { name: "cert-manager: nobody is bound by another one's certificate", given: look({ ...byCertificate, cluster: MANAGED, pair: { fingerprint: "left", commonName: "binding:app" }, with: { signer: LEFT } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "cert-manager: which goes on to say whom to trust", given: look({ ...byCertificate, cluster: MANAGED, pair: { fingerprint: "left", commonName: "binding:app" }, with: { signer: LEFT, trust: bundle(OWN, NEXT) } }), expect: `${WRITE} none keep` },
  { name: "cert-manager: and is followed by one's own", given: look({ ...byCertificate, cluster: MANAGED, pair: { fingerprint: "left", commonName: "binding:app" } }), expect: `${WRITE} none copy` },
  { name: "cert-manager: with a password, nor what is left of who was known by it", given: look({ cluster: MANAGED, bound: null, with: { ...nobody, signer: LEFT_NAMED } }), expect: "wait: await-certificate", says: "False CertificatePending" },
  { name: "cert-manager: but what an issuer that chooses names has made for this one", given: look({ cluster: MANAGED, bound: null, with: { ...nobody, signer: LEFT_NAMED, request: readyFor({}) } }), expect: `${WRITE} new copy` },
  { name: "cert-manager: by which one is bound", given: look({ cluster: MANAGED, pair: { commonName: "chosen" }, with: { signer: LEFT_NAMED } }), expect: "settled", says: "True Bound" },
  { name: "cert-manager: while that could not be read it is not asked", given: look({ cluster: MANAGED, with: { request: unknown("away") } }), expect: "settled" },
  { name: "its user goes with it", given: look(going), expect: "delete-user: deleteUser app", says: "False Deleting" },
  { name: "and then it may go", given: look({ ...going, with: nobody }), expect: "release-user: releaseUser", says: "False Deleting" },
  { name: "while etcd is silent it stays", given: look({ ...going, with: silent }), expect: "wait: await-etcd", says: "False Deleting" },
  { name: "nor while etcd was not asked", given: look({ ...going, cluster: PAUSED, with: unasked }), expect: "wait: await-cluster", says: "False Deleting" },
  { name: "nor while only a part is known", given: look({ with: { access: unknown("silent"), found: absent, password: absent } }), expect: "wait: await-etcd" },
  { name: "nor while the user is not", given: look({ with: { found: unknown("silent"), password: absent } }), expect: "wait: await-etcd" },
  { name: "with its cluster it goes at once", given: look({ ...going, cluster: undefined, with: unasked }), expect: "release-user: releaseUser" },
  { name: "and with one that is being deleted", given: look({ ...going, cluster: GOING, with: unasked }), expect: "release-user: releaseUser" },
  { name: "while its cluster has yet to form, perhaps of the data in which it was made, it stays", given: look({ ...going, cluster: NAMELESS, with: unasked }), expect: "wait: await-cluster", says: "False Deleting" },
  { name: "one that has made nothing goes at once", given: look({ ...going, claimed: false }), expect: "release-user: releaseUser" },
  { name: "so does one that has made it in an etcd that was here before", given: look({ ...going, claimed: "elsewhere" }), expect: "release-user: releaseUser" },
  { name: "one whose name is another one's, too", given: look({ ...going, with: { elder: "other" } }), expect: "release-user: releaseUser" },
  { name: "one whose name is the operator's by now goes with its user, who gets nobody in", given: look({ ...going, with: { operatorName: "app" } }), expect: "delete-user: deleteUser app" },
  { name: "but stays while that is an administrator", given: look({ ...going, with: { operatorName: "app", found: present(["root"]) } }), expect: "warn: not-the-operator", says: "False Deleting" },
  { name: "what others hold is left to them", given: look({ ...going, held: false }), expect: "settled", says: "False Deleting" },
]; // biome-ignore format: a table

test.each(cases)("user: $name", ({ given, expect: expected, says }) => {
  const plan = planUser(given);
  expect(planText(plan, stepText)).toEqual(expected);
  const [ready] = userStatus(given, plan).conditions ?? [];
  if (says !== undefined) expect(`${ready?.status} ${ready?.reason}`).toBe(says);
});

test.each([
  ["nothing is in its way", undefined, ""],
  ["its Secret cannot be written", false, "; tell-trust: the Secret is immutable"],
  ["its Secret is to be written in a moment", true, ""],
])(
  "user: one that is refused says why, and what keeps its binding from saying whom to trust: %s",
  (_, isBrief, more) => {
    const given = look({ ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } });
    const rest = { because: "the Secret is immutable", forMs: 1_000 };
    const plan = planUser(given, () => (isBrief === undefined ? undefined : { ...rest, isBrief }));
    const [ready] = userStatus(given, plan).conditions ?? [];
    expect(ready?.message).toMatch(new RegExp(`^spec.authentication is Certificate; [^;]* is Secret\\)${more}$`));
  },
);

test.each([
  ["that is away", "away", "the binding Secret could not be read: away", false],
  ["that may not be read", 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"', "the operator may not get secrets in namespace foo; who may grant that does so by: kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls --user a", true], // biome-ignore format: one line
])("user: of a binding %s it is said why", (_name, why, because, warn) => {
  expect(planUser(look({ with: { binding: unknown(why), password: absent } }))).toMatchObject({ because, warn });
});

const HALF = 15 * DAY_MS;
const endsAt = (notAfterMs: number) => ({ pair: { notAfterMs }, with: { signer: absent } });
const issuing = (status: string, reason: string, sinceMs: number) => {
  const lastTransitionTime = new Date(NOW - sinceMs).toISOString();
  return present({
    ...other({}),
    status: { conditions: [{ type: "Issuing", status, reason, message: "no", lastTransitionTime }] },
  });
};
const UNRENEWED =
  "Secret app-binding-tls is not renewed: cert-manager says: no; kubectl -n foo describe certificaterequests tells more";

test.each([
  ["not long before it is late", look(endsAt(NOW + HALF + 1)), undefined, "True Bound"],
  ["when half of the time to renew it is over", look(endsAt(NOW + HALF)), "the certificate in Secret app-binding ends at 2026-01-16T12:00:00Z, and has not been renewed", "True Bound"],
  ["a moment before its end", look(endsAt(NOW + 1)), "the certificate in Secret app-binding ends at 2026-01-01T12:00:00Z, and has not been renewed", "True Bound"],
  ["at its end, when nobody gets in by it", look(endsAt(NOW)), "the certificate in Secret app-binding has ended at 2026-01-01T12:00:00Z, and has not been renewed", "False CertificatePending"],
  ["whatever else waits", look({ ...endsAt(NOW), cluster: PAUSED }), "the certificate in Secret app-binding has ended at 2026-01-01T12:00:00Z, and has not been renewed", "False Paused"],
  ["also of one that is to go", look({ ...going, pair: { notAfterMs: NOW }, with: { ...nobody, signer: absent } }), "the certificate in Secret app-binding has ended at 2026-01-01T12:00:00Z, and has not been renewed", "False Deleting"],
  ["by the cluster's own life of certificates", look({ ...endsAt(NOW + 2 * 3_600_000), cluster: etcdOf({ client: { duration: "24h", renewBefore: "4h" } }) }), "the certificate in Secret app-binding ends at 2026-01-01T14:00:00Z, and has not been renewed", "True Bound"],
  ["by what the issuer gives, which may be less", look({ cluster: MANAGED, pair: { notAfterMs: NOW + 28 * 3_600_000, lifeMs: 7 * DAY_MS } }), "the certificate in Secret app-binding ends at 2026-01-02T16:00:00Z, and has not been renewed", "True Bound"],
  ["and not before", look({ cluster: MANAGED, pair: { notAfterMs: NOW + 29 * 3_600_000, lifeMs: 7 * DAY_MS } }), undefined, "True Bound"],
  ["when cert-manager has failed", look({ cluster: MANAGED, with: { request: issuing("False", "Failed", 0) } }), UNRENEWED, "True Bound"],
  ["when it takes long", look({ cluster: MANAGED, with: { request: issuing("True", "Renewing", 300_000) } }), UNRENEWED, "True Bound"],
  ["not while it is at it", look({ cluster: MANAGED, with: { request: issuing("True", "Renewing", 299_999) } }), undefined, "True Bound"],
  ["both", look({ cluster: MANAGED, pair: { notAfterMs: NOW + HALF }, with: { request: issuing("False", "Failed", 0) } }), `the certificate in Secret app-binding ends at 2026-01-16T12:00:00Z, and has not been renewed; ${UNRENEWED}`, "True Bound"],
  ["not of the first one, which is waited for", look({ cluster: MANAGED, bound: null, with: { signer: absent, request: issuing("False", "Failed", 0), password: absent } }), undefined, "False CertificatePending"],
  ["not of what is somebody else's", look({ bound: { ownerUid: "other" }, ...endsAt(NOW) }), undefined, "False NameTaken"],
  ["not where there is none", look({ cluster: PLAIN }), undefined, "True Bound"],
  ["not where it says no end", look(endsAt(0)), undefined, "True Bound"],
  ["not of a cluster that is gone", look({ bound: {}, with: { cluster: undefined } }), undefined, "False ClusterNotFound"],
] as const)("user: that its certificate is not renewed is told %s", (_, given, because, says) => {
  const plan = planUser(given);
  expect(plan.aside).toEqual(because && [{ rule: "binding-ends", because, is: "remark" }]);
  const [ready] = userStatus(given, plan).conditions ?? [];
  expect(`${ready?.status} ${ready?.reason}`).toBe(says);
}); // biome-ignore format: a table

test("a case reaches each rule", () => {
  const decided = cases.map(({ given }) => planUser(given)).flatMap((plan) => ("rule" in plan ? [plan.rule] : []));
  const reached = new Set([...decided, "binding-ends"]);
  expect(USER_RULES.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([]);
});

test("where two rules have an opinion, their order decides", () => {
  const surplus = { found: present(["other"]) };
  const pairs: readonly (readonly [string, string, UserSnapshot])[] = [
    ["release-user", "await-cluster", look({ ...going, cluster: undefined, with: unasked })],
    ["await-cluster", "await-etcd", look({ cluster: PAUSED, with: silent })],
    ["await-etcd", "delete-user", look({ ...going, with: silent })],
    ["delete-user", "refuse-user", look({ ...going, ...byCertificate, cluster: PLAIN })],
    ["binding-taken", "request-certificate", look({ cluster: MANAGED, bound: { ownerUid: "other" }, with: { request: absent } })],
    ["grant-role", "await-binding", look({ with: { found: present([]), binding: unknown("away"), password: absent } })],
    ["delete-user", "revoke-role", look({ ...going, with: surplus })],
    ["delete-user", "tell-trust", look({ ...going, ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } })],
    ["tell-trust", "refuse-user", look({ ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } })],
    ["refuse-user", "name-taken", look({ spec: { userName: "etcd-cluster-operator" }, claimed: false })],
    ["name-taken", "hold-user", look({ claimed: false, held: false })],
    ["hold-user", "claim-user", look({ claimed: false, held: false, with: nobody })],
    ["claim-user", "revoke-role", look({ claimed: false, spec: { takeOver: true }, with: surplus })],
    ["revoke-role", "binding-taken", look({ bound: { ownerUid: "other" }, with: surplus })],
    ["binding-taken", "grant-role", look({ bound: { ownerUid: "other" }, with: { found: present([]) } })],
    ["request-certificate", "write-binding", look({ cluster: MANAGED, bound: { hasPassword: false }, with: { request: absent } })],
    ["write-binding", "remake-user", look({ ...asks, with: { password: present("none") } })],
    ["write-binding", "set-password", look({ ...asks, with: { password: present("differs") } })],
    ["write-binding", "add-user", look({ ...asks, with: nobody })],
    ["set-password", "grant-role", look({ with: { password: present("differs"), found: present([]) } })],
    ["remake-user", "grant-role", look({ with: { password: present("none"), found: present([]) } })],
    ["grant-role", "await-certificate", look({ ...byCertificate, bound: null, with: { found: present([]), signer: absent } })],
    ["grant-role", "await-password", look({ bound: LONG, with: { found: present([]), password: absent } })],
    ["await-password", "await-certificate", look({ bound: LONG, pair: { trouble: "t" }, with: { signer: absent, password: absent } })],
    ["await-binding", "await-certificate", look({ with: { binding: unknown("away"), password: absent } })],
    ["await-certificate", "await-role", look({ bound: null, with: { signer: absent, missingRoles: ["reader"], found: present([]), password: absent } })],
  ]; // biome-ignore format: a table
  for (const [first, second, snapshot] of pairs) {
    const having = USER_RULES.filter((rule) => rule.decide(snapshot) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    expect(having[0]).toBe(first);
  }
});

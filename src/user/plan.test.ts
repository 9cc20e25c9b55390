import { expect, test } from "vitest";
import { ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, issuedFacts, NEXT, OWN, signerOf, userLook } from "#kit/snapshots/access.ts";
import { born, NOW } from "#kit/snapshots/cluster.ts";
import { bundle } from "#kit/snapshots/cluster-tls.ts";
import { planText } from "#kit/tables/plan-text.ts";
import type { Certificate } from "#kube/kinds.ts";
import { bindingRequest } from "#user/desired/request.ts";
import { planUser, USER_RULES } from "#user/plan.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import { userStatus } from "#user/status.ts";
import { targetTextOf, type UserStep } from "#user/step.ts";

const stepText = (step: UserStep) => `${step.do} ${targetTextOf(step)}`.trim();
const DAY_MS = 86_400_000;
const look = userLook;
const byCertificate = { spec: { authentication: { type: "Certificate" } } };
const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ca" } } } };
const BROUGHT = { client: { provider: "Secret", secret: { server: { name: "a" }, operator: { name: "b" } } } };
const OPEN = { client: { clientCertificates: "NotRequired" } };
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
const noUser = { found: absent, password: absent } as const;
const LONG = { passwordTrouble: "its password has 73 bytes" };
const WRITE = "write-binding: writeBinding app-binding";
const other = (metadata: object) => {
  const request = born<Certificate>(bindingRequest(look().user, MANAGED));
  return { ...request, metadata: { ...request.metadata, ...metadata } };
};

/** Certificates left by an earlier EtcdUser of this name: with authentication Password, and Certificate. */
const LEFT = present(issuedFacts({ fingerprint: "left" }));
const LEFT_NAMED = present(issuedFacts({ fingerprint: "left", commonName: "shop-ro" }));
/** The Certificate of the EtcdUser, Ready. */
const readyFor = (given: Parameters<typeof look>[0]) => {
  const request = born<Certificate>(bindingRequest(look(given).user, MANAGED));
  return present({ ...request, status: { conditions: [{ type: "Ready", status: "True" }] } });
};

const cases: readonly { name: string; given: UserSnapshot; expect: string; shows?: string }[] = [
  { name: "an up-to-date user is settled", given: look(), expect: "settled", shows: "True Bound" },
  { name: "a user with authentication Certificate is settled", given: look(byCertificate), expect: "settled", shows: "True Bound" },
  { name: "a user of a cluster without TLS is settled", given: look({ cluster: PLAIN }), expect: "settled", shows: "True Bound" },
  { name: "a user with cert-manager's certificate is settled", given: look({ cluster: MANAGED }), expect: "settled", shows: "True Bound" },
  { name: "the status reports that auth is not enabled", given: look({ with: { access: present({ enabled: false }) } }), expect: "settled", shows: "True AuthDisabled" },
  { name: "the finalizer is set first", given: look({ held: false, claimed: false, bound: null, with: noUser }), expect: "hold-user: holdUser", shows: "False Applying" },
  { name: "the status claims the user before it is created", given: look({ claimed: false, bound: null, with: noUser }), expect: "claim-user: claimUser app" },
  { name: "the Secret is written before the user is created", given: look({ bound: null, with: noUser }), expect: `${WRITE} new issue` },
  { name: "the claimed user is created", given: look({ with: noUser }), expect: "add-user: addUser app 90" },
  { name: "the user is created with spec.userName", given: look({ spec: { userName: "u" }, with: noUser }), expect: "add-user: addUser u 90" },
  { name: "a user with authentication Certificate is created without a password", given: look({ ...byCertificate, with: noUser }), expect: "add-user: addUser app" },
  { name: "a role that is not in the spec is revoked", given: look({ with: { found: present(["reader", "root"]) } }), expect: "revoke-role: revokeRole app root" },
  { name: "a role of the spec is granted", given: look({ with: { found: present([]) } }), expect: "grant-role: grantRole app reader" },
  { name: "the plan waits for a role that does not exist", given: look({ with: { found: present([]), missingRoles: ["reader"] } }), expect: "wait: await-role", shows: "False RoleMissing" },
  { name: "existing roles are granted while another role is missing", given: look({ spec: { roles: ["gone", "reader"] }, with: { found: present([]), missingRoles: ["gone"] } }), expect: "grant-role: grantRole app reader" },
  { name: "a password is set when etcd has a different one", given: look({ with: { password: present("differs") } }), expect: "set-password: setPassword app 90", shows: "False Applying" },
  { name: "a user without a password in etcd is deleted to be created again", given: look({ with: { password: present("none") } }), expect: "recreate-user: deleteUser app" },
  { name: "a password that etcd would refuse is reported as PasswordRefused", given: look({ bound: LONG, with: { password: absent } }), expect: "warn: await-password", shows: "False PasswordRefused" },
  { name: "no user is created with a password that etcd would refuse", given: look({ bound: LONG, with: noUser }), expect: "warn: await-password" },
  { name: "a password that etcd would refuse is removed when authentication is Certificate", given: look({ ...byCertificate, bound: { ...LONG, hasPassword: true } }), expect: `${WRITE} none keep` },
  { name: "a password that etcd would refuse does not matter with authentication Certificate", given: look({ ...byCertificate, bound: { ...LONG, hasPassword: true }, pair: { trouble: "t" }, with: { signer: absent } }), expect: "wait: await-certificate" },
  { name: "a password that etcd would refuse is replaced when the rotation annotation is set", given: look({ ...asks, bound: LONG, with: { password: absent } }), expect: `${WRITE} new keep` },
  { name: "another owner's Secret is reported before a password that etcd would refuse", given: look({ bound: { ...LONG, ownerUid: "other" }, with: { password: absent } }), expect: "warn: binding-taken" },
  { name: "the plan waits when the password could not be checked", given: look({ with: { password: unknown("silent") } }), expect: "wait: await-etcd", shows: "Unknown EtcdUnreachable" },
  { name: "an existing user that is not claimed is not changed", given: look({ claimed: false }), expect: "warn: name-taken", shows: "False NameTaken" },
  { name: "a user claimed in an earlier etcd cluster is not changed", given: look({ claimed: "elsewhere" }), expect: "warn: name-taken", shows: "False NameTaken" },
  { name: "a user claimed in an earlier etcd cluster is claimed again when it does not exist", given: look({ claimed: "elsewhere", with: noUser }), expect: "claim-user: claimUser app" },
  { name: "an existing user is claimed with spec.takeOver", given: look({ claimed: false, spec: { takeOver: true } }), expect: "claim-user: claimUser app" },
  { name: "the younger of two EtcdUsers is refused the name", given: look({ with: { elder: "other" } }), expect: "warn: name-taken", shows: "False NameTaken" },
  { name: "the name of the operator's user is refused", given: look({ spec: { userName: "etcd-cluster-operator" } }), expect: "warn: refuse-user", shows: "False SpecRefused" },
  { name: "the name of the operator's future user is refused", given: look({ cluster: etcdOf({}, { status: { auth: { enabled: true, operators: ["app"] } } }) }), expect: "warn: refuse-user", shows: "False SpecRefused" },
  { name: "authentication by certificate is refused without TLS", given: look({ ...byCertificate, cluster: PLAIN }), expect: "warn: refuse-user", shows: "False SpecRefused" },
  { name: "authentication by certificate is not refused before a new cluster has TLS", given: look({ ...byCertificate, cluster: etcdOf(null, { status: { identity: undefined } }) }), expect: "wait: await-cluster", shows: "False ClusterNotReady" },
  { name: "authentication by certificate is refused before a cluster with provider Secret has formed", given: look({ ...byCertificate, cluster: etcdOf(BROUGHT, { status: { identity: undefined } }) }), expect: "wait: await-cluster", shows: "False SpecRefused" },
  { name: "a refused EtcdUser's binding gets new CAs after a switch to provider Secret", given: look({ ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } }), expect: "publish-trust: writeBinding app-binding none none", shows: "False SpecRefused" },
  { name: "authentication by certificate is refused with provider Secret", given: look({ ...byCertificate, cluster: etcdOf(BROUGHT) }), expect: "warn: refuse-user", shows: "False SpecRefused" },
  { name: "authentication by certificate is refused when clients are not verified", given: look({ ...byCertificate, cluster: etcdOf(OPEN) }), expect: "warn: refuse-user", shows: "False SpecRefused" },
  { name: "a user with a password is settled with provider Secret", given: look({ cluster: etcdOf(BROUGHT) }), expect: "settled", shows: "True Bound" },
  { name: "the plan waits for a cluster that does not exist", given: look({ cluster: undefined, with: unasked }), expect: "wait: await-cluster", shows: "False ClusterNotFound" },
  { name: "the plan waits for a paused cluster", given: look({ cluster: PAUSED, with: unasked }), expect: "wait: await-cluster", shows: "False Paused" },
  { name: "a certificate is renewed while the cluster is paused", given: look({ cluster: PAUSED, pair: { notAfterMs: NOW + 30 * DAY_MS }, with: { ...unasked, password: absent } }), expect: "renew-binding: writeBinding app-binding keep issue", shows: "False Applying" },
  { name: "the plan waits while etcd does not answer", given: look({ with: silent }), expect: "wait: await-etcd", shows: "Unknown EtcdUnreachable" },
  { name: "another owner's Secret is not changed", given: look({ bound: { ownerUid: "other" } }), expect: "warn: binding-taken", shows: "False NameTaken" },
  { name: "a Secret without an owner is not changed", given: look({ bound: { ownerUid: undefined } }), expect: "warn: binding-taken", shows: "False NameTaken" },
  { name: "the plan waits when the Secret could not be read", given: look({ with: { binding: unknown("away"), password: absent } }), expect: "wait: await-binding", shows: "False Waiting" },
  { name: "binding: a missing password is created", given: look({ bound: { hasPassword: false } }), expect: `${WRITE} new keep` },
  { name: "binding: the password is removed when authentication is Certificate", given: look({ ...byCertificate, bound: { hasPassword: true } }), expect: `${WRITE} none keep` },
  { name: "binding: a key that a user has changed is restored", given: look({ bound: { texts: { type: "mysql" } } }), expect: `${WRITE} keep keep` },
  { name: "binding: a new spec.keyPrefix is written", given: look({ spec: { keyPrefix: "orders/" }, bound: { texts: look().binding.is === "present" ? (look().binding as never as { value: { texts: object } }).value.texts as never : {} } }), expect: `${WRITE} keep keep` },
  { name: "binding: the certificate is removed when the cluster has no TLS", given: look({ cluster: PLAIN, bound: { texts: { ...(look({ cluster: PLAIN }).binding as never as { value: { texts: object } }).value.texts, "tls.crt": "x" } } }), expect: `${WRITE} keep none` },
  { name: "rotation: a password is replaced when the rotation annotation is set", given: look(asks), expect: `${WRITE} new keep` },
  { name: "rotation: one value of the annotation replaces the password once", given: look({ ...asks, bound: { rotatedFor: "1" } }), expect: "settled" },
  { name: "rotation: another value of the annotation replaces the password again", given: look({ ...asks, bound: { rotatedFor: "0" } }), expect: `${WRITE} new keep` },
  { name: "rotation: a password is replaced when spec.rotation.every has passed", given: look({ spec: daily }), expect: `${WRITE} new keep` },
  { name: "rotation: a password is not replaced before spec.rotation.every has passed", given: look({ spec: daily, bound: { rotatedAtMs: NOW - DAY_MS + 1 } }), expect: "settled" },
  { name: "rotation: a password of unknown age is replaced", given: look({ spec: daily, bound: { rotatedAtMs: undefined } }), expect: `${WRITE} new keep` },
  { name: "rotation: a certificate is replaced when the rotation annotation is set", given: look({ ...byCertificate, ...asks }), expect: `${WRITE} none issue` },
  { name: "rotation: a certificate is replaced when spec.rotation.every has passed", given: look({ spec: { ...byCertificate.spec, ...daily } }), expect: `${WRITE} none issue` },
  { name: "certificate: a missing certificate is issued", given: look({ pair: null }), expect: `${WRITE} keep issue` },
  { name: "certificate: an unusable certificate is replaced", given: look({ pair: { trouble: "its tls.key is not the key" } }), expect: `${WRITE} keep issue` },
  { name: "binding: labels of spec.bindingSecret are written", given: look({ spec: { bindingSecret: { metadata: { labels: { team: "a" } } } } }), expect: `${WRITE} keep keep` },
  { name: "certificate: a certificate issued for other values is replaced", given: look({ pair: { madeFor: "other" } }), expect: `${WRITE} keep issue` },
  { name: "certificate: a certificate is replaced when the CA has changed", given: look({ with: { signer: present(signerOf(NEXT)) } }), expect: `${WRITE} keep issue` },
  { name: "certificate: no certificate is issued while a member does not trust the new CA", given: look({ with: { signer: present(signerOf(NEXT)), doubters: ["my-etcd-0"] } }), expect: "settled" },
  { name: "certificate: no certificate is issued from an untrusted CA just before the old one expires", given: look({ pair: { notAfterMs: NOW + 1 }, with: { signer: present(signerOf(NEXT)), doubters: ["my-etcd-0"] } }), expect: "settled" },
  { name: "certificate: an expired certificate is replaced even if a member does not trust the new CA", given: look({ pair: { notAfterMs: NOW }, with: { signer: present(signerOf(NEXT)), doubters: ["my-etcd-0"] } }), expect: `${WRITE} keep issue` },
  { name: "certificate: a certificate is renewed 30 days before it expires", given: look({ pair: { notAfterMs: NOW + 30 * DAY_MS } }), expect: `${WRITE} keep issue` },
  { name: "certificate: a certificate is not renewed earlier than 30 days before it expires", given: look({ pair: { notAfterMs: NOW + 30 * DAY_MS + 1 } }), expect: "settled" },
  { name: "certificate: a certificate is not renewed by a CA that expires at the same time", given: look({ pair: { notAfterMs: NOW + DAY_MS }, with: { signer: present(signerOf(undefined, { notAfterMs: NOW + DAY_MS })) } }), expect: "settled" },
  { name: "certificate: an expired certificate stays while the CA does not exist", given: look({ pair: { notAfterMs: NOW }, with: { signer: absent } }), expect: "settled" },
  { name: "certificate: an expired certificate stays while the CA is unusable", given: look({ pair: { notAfterMs: NOW }, with: { signer: present(signerOf(undefined, { trouble: "t" })) } }), expect: "settled" },
  { name: "certificate: a new binding waits for the CA", given: look({ bound: null, with: { ...noUser, signer: absent } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "certificate: a new binding waits until the members' CAs are known", given: look({ bound: null, with: { ...noUser, trust: undefined } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "certificate: a user with authentication Certificate is created before its certificate", given: look({ ...byCertificate, bound: null, with: { ...noUser, signer: absent } }), expect: "add-user: addUser app" },
  { name: "certificate: changed CAs are written to the binding", given: look({ with: { trust: bundle(NEXT) } }), expect: `${WRITE} keep keep` },
  { name: "cert-manager: a Certificate is created", given: look({ cluster: MANAGED, bound: null, with: { ...noUser, request: absent, signer: absent } }), expect: expect.stringMatching(/^request-certificate: requestCertificate app-binding-tls /) as never },
  { name: "cert-manager: the Certificate is updated when the issuer has changed", given: look({ cluster: etcdOf({ client: { provider: "CertManager", certManager: { issuerRef: { name: "new" } } } }), with: { request: present(other({ ownerReferences: [{ controller: true, uid: "uid-of-app" }] })) } }), expect: expect.stringMatching(/^request-certificate: /) as never },
  { name: "cert-manager: no Certificate is created when its Secret's name is taken", given: look({ cluster: MANAGED, bound: null, with: { ...noUser, request: absent, signer: absent, isIssuedTaken: true } }), expect: "warn: binding-taken", shows: "False NameTaken" },
  { name: "cert-manager: the plan waits for an existing Certificate when the name of its Secret is taken", given: look({ cluster: MANAGED, bound: null, with: { ...noUser, signer: absent, isIssuedTaken: true } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "cert-manager: a new binding waits for the Certificate to be issued", given: look({ cluster: MANAGED, bound: null, with: { ...noUser, signer: absent } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "cert-manager: an issued certificate is copied to the binding", given: look({ cluster: MANAGED, bound: null, with: noUser }), expect: `${WRITE} new copy` },
  { name: "cert-manager: a renewed certificate is copied to the binding", given: look({ cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "newer" })) } }), expect: `${WRITE} keep copy` },
  { name: "cert-manager: an unusable certificate is not copied", given: look({ cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "newer", trouble: "t" })) } }), expect: "settled" },
  { name: "cert-manager: a certificate that a member does not trust is not copied", given: look({ cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "newer" })), doubters: ["my-etcd-0"] } }), expect: "settled" },
  { name: "cert-manager: the certificate of another owner's Certificate is not copied", given: look({ cluster: MANAGED, bound: null, with: { ...noUser, request: present({ ...other({ ownerReferences: [{ controller: true, uid: "other" }] }) }) } }), expect: "wait: await-certificate" },
  { name: "cert-manager: an earlier EtcdUser's certificate is not copied", given: look({ ...byCertificate, cluster: MANAGED, bound: null, with: { signer: LEFT } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "cert-manager: a certificate with another common name is not copied, even if the Certificate is Ready", given: look({ ...byCertificate, cluster: MANAGED, bound: null, with: { signer: LEFT, request: readyFor(byCertificate) } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "cert-manager: a valid certificate stays while cert-manager's has another common name", given: look({ ...byCertificate, cluster: MANAGED, with: { signer: LEFT } }), expect: "settled", shows: "True Bound" },
  { name: "cert-manager: a binding with another user's certificate is not Bound", given: look({ ...byCertificate, cluster: MANAGED, pair: { fingerprint: "left", commonName: "" }, with: { signer: LEFT } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "cert-manager: CAs are updated in a binding with another user's certificate", given: look({ ...byCertificate, cluster: MANAGED, pair: { fingerprint: "left", commonName: "" }, with: { signer: LEFT, trust: bundle(OWN, NEXT) } }), expect: `${WRITE} none keep` },
  { name: "cert-manager: another user's certificate in the binding is replaced", given: look({ ...byCertificate, cluster: MANAGED, pair: { fingerprint: "left", commonName: "" } }), expect: `${WRITE} none copy` },
  { name: "cert-manager: with authentication Password, an earlier EtcdUser's certificate is not copied", given: look({ cluster: MANAGED, bound: null, with: { ...noUser, signer: LEFT_NAMED } }), expect: "wait: await-certificate", shows: "False CertificatePending" },
  { name: "cert-manager: with authentication Password, the issuer may choose the common name", given: look({ cluster: MANAGED, bound: null, with: { ...noUser, signer: LEFT_NAMED, request: readyFor({}) } }), expect: `${WRITE} new copy` },
  { name: "cert-manager: with authentication Password, a user is Bound with any common name", given: look({ cluster: MANAGED, pair: { commonName: "chosen" }, with: { signer: LEFT_NAMED } }), expect: "settled", shows: "True Bound" },
  { name: "cert-manager: a Certificate that could not be read is not written", given: look({ cluster: MANAGED, with: { request: unknown("away") } }), expect: "settled" },
  { name: "deletion: the user is deleted in etcd", given: look(going), expect: "delete-user: deleteUser app", shows: "False Deleting" },
  { name: "deletion: the finalizer is removed when the user is deleted in etcd", given: look({ ...going, with: noUser }), expect: "release-user: releaseUser", shows: "False Deleting" },
  { name: "deletion: the EtcdUser stays while etcd does not answer", given: look({ ...going, with: silent }), expect: "wait: await-etcd", shows: "False Deleting" },
  { name: "deletion: the EtcdUser stays while the cluster is paused", given: look({ ...going, cluster: PAUSED, with: unasked }), expect: "wait: await-cluster", shows: "False Deleting" },
  { name: "the plan waits when etcd has answered only some requests", given: look({ with: { access: unknown("silent"), found: absent, password: absent } }), expect: "wait: await-etcd" },
  { name: "the plan waits when the user could not be read from etcd", given: look({ with: { found: unknown("silent"), password: absent } }), expect: "wait: await-etcd" },
  { name: "deletion: the finalizer is removed when the cluster does not exist", given: look({ ...going, cluster: undefined, with: unasked }), expect: "release-user: releaseUser" },
  { name: "deletion: the finalizer is removed when the cluster is being deleted", given: look({ ...going, cluster: GOING, with: unasked }), expect: "release-user: releaseUser" },
  { name: "deletion: the EtcdUser stays while its cluster may form again with the user's data", given: look({ ...going, cluster: NAMELESS, with: unasked }), expect: "wait: await-cluster", shows: "False Deleting" },
  { name: "deletion: the finalizer is removed when no user was created", given: look({ ...going, claimed: false }), expect: "release-user: releaseUser" },
  { name: "deletion: the finalizer is removed when the user was claimed in an earlier etcd cluster", given: look({ ...going, claimed: "elsewhere" }), expect: "release-user: releaseUser" },
  { name: "deletion: the finalizer is removed when an older EtcdUser has the name", given: look({ ...going, with: { elder: "other" } }), expect: "release-user: releaseUser" },
  { name: "deletion: a user with the operator's name and without role root is deleted", given: look({ ...going, with: { operatorName: "app" } }), expect: "delete-user: deleteUser app" },
  { name: "deletion: a user with the operator's name and role root stays in etcd", given: look({ ...going, with: { operatorName: "app", found: present(["root"]) } }), expect: "warn: not-the-operator", shows: "False Deleting" },
  { name: "deletion: an EtcdUser with only other finalizers is not changed", given: look({ ...going, held: false }), expect: "settled", shows: "False Deleting" },
]; // biome-ignore format: a table

test.each(cases)("user: $name", ({ given, expect: expected, shows }) => {
  const plan = planUser(given);
  expect(planText(plan, stepText)).toEqual(expected);
  const [ready] = userStatus(given, plan).conditions ?? [];
  if (shows !== undefined) expect(`${ready?.status} ${ready?.reason}`).toBe(shows);
});

test.each([
  ["only the refusal when the CAs can be updated", undefined, ""],
  ["the refusal and the reason when the Secret cannot be written", false, "; publish-trust: the Secret is immutable"],
  ["only the refusal when the write is retried shortly", true, ""],
])("user: a refused EtcdUser's status shows %s", (_, isBrief, more) => {
  const given = look({ ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } });
  const rest = { because: "the Secret is immutable", forMs: 1_000 };
  const plan = planUser(given, () => (isBrief === undefined ? undefined : { ...rest, isBrief }));
  const [ready] = userStatus(given, plan).conditions ?? [];
  expect(ready?.message).toMatch(new RegExp(`^spec.authentication.type is Certificate; [^;]* is Secret\\)${more}$`));
});

test.each([
  ["that could not be read", "away", "the binding Secret could not be read: away", false],
  ["that the operator may not read", 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"', "the operator may not get secrets in namespace foo; an administrator grants it with: kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls --user a", true], // biome-ignore format: one line
])("user: a binding Secret %s is reported with the reason", (_name, why, because, warn) => {
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
  "Secret app-binding-tls is not renewed: cert-manager reports: no; kubectl -n foo describe certificaterequests shows more";

test.each([
  ["is not reported just before half of the renewal time has passed", look(endsAt(NOW + HALF + 1)), undefined, "True Bound"],
  ["is reported when half of the renewal time has passed", look(endsAt(NOW + HALF)), "the certificate in Secret app-binding expires at 2026-01-16T12:00:00Z and was not renewed in time", "True Bound"],
  ["is reported just before the certificate expires", look(endsAt(NOW + 1)), "the certificate in Secret app-binding expires at 2026-01-01T12:00:00Z and was not renewed in time", "True Bound"],
  ["is reported and makes Ready False when the certificate has expired", look(endsAt(NOW)), "the certificate in Secret app-binding expired at 2026-01-01T12:00:00Z and was not renewed in time", "False CertificatePending"],
  ["is reported while the plan waits for a paused cluster", look({ ...endsAt(NOW), cluster: PAUSED }), "the certificate in Secret app-binding expired at 2026-01-01T12:00:00Z and was not renewed in time", "False Paused"],
  ["is reported while the EtcdUser is being deleted", look({ ...going, pair: { notAfterMs: NOW }, with: { ...noUser, signer: absent } }), "the certificate in Secret app-binding expired at 2026-01-01T12:00:00Z and was not renewed in time", "False Deleting"],
  ["is measured by the duration in the cluster's spec", look({ ...endsAt(NOW + 2 * 3_600_000), cluster: etcdOf({ client: { duration: "24h", renewBefore: "4h" } }) }), "the certificate in Secret app-binding expires at 2026-01-01T14:00:00Z and was not renewed in time", "True Bound"],
  ["is measured by the issuer's duration when that is shorter", look({ cluster: MANAGED, pair: { notAfterMs: NOW + 28 * 3_600_000, lifeMs: 7 * DAY_MS } }), "the certificate in Secret app-binding expires at 2026-01-02T16:00:00Z and was not renewed in time", "True Bound"],
  ["is not reported before half of a shorter renewal time has passed", look({ cluster: MANAGED, pair: { notAfterMs: NOW + 29 * 3_600_000, lifeMs: 7 * DAY_MS } }), undefined, "True Bound"],
  ["is reported when cert-manager has failed", look({ cluster: MANAGED, with: { request: issuing("False", "Failed", 0) } }), UNRENEWED, "True Bound"],
  ["is reported when cert-manager has been renewing for five minutes", look({ cluster: MANAGED, with: { request: issuing("True", "Renewing", 300_000) } }), UNRENEWED, "True Bound"],
  ["is not reported while cert-manager has been renewing for less than five minutes", look({ cluster: MANAGED, with: { request: issuing("True", "Renewing", 299_999) } }), undefined, "True Bound"],
  ["is reported with cert-manager's failure", look({ cluster: MANAGED, pair: { notAfterMs: NOW + HALF }, with: { request: issuing("False", "Failed", 0) } }), `the certificate in Secret app-binding expires at 2026-01-16T12:00:00Z and was not renewed in time; ${UNRENEWED}`, "True Bound"],
  ["is not reported for the first certificate", look({ cluster: MANAGED, bound: null, with: { signer: absent, request: issuing("False", "Failed", 0), password: absent } }), undefined, "False CertificatePending"],
  ["is not reported for a Secret of another owner", look({ bound: { ownerUid: "other" }, ...endsAt(NOW) }), undefined, "False NameTaken"],
  ["is not reported without a certificate", look({ cluster: PLAIN }), undefined, "True Bound"],
  ["is not reported when the expiry is unknown", look(endsAt(0)), undefined, "True Bound"],
  ["is not reported when the cluster does not exist", look({ bound: {}, with: { cluster: undefined } }), undefined, "False ClusterNotFound"],
] as const)("user: a late renewal %s", (_, given, because, shows) => {
  const plan = planUser(given);
  expect(plan.reports).toEqual(because && [{ rule: "binding-expires", because, is: "notice" }]);
  const [ready] = userStatus(given, plan).conditions ?? [];
  expect(`${ready?.status} ${ready?.reason}`).toBe(shows);
}); // biome-ignore format: a table

test("every rule of the user plan decides a case", () => {
  const decided = cases.map(({ given }) => planUser(given)).flatMap((plan) => ("rule" in plan ? [plan.rule] : []));
  const reached = new Set([...decided, "binding-expires"]);
  expect(USER_RULES.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([]);
});

test("the first of two applicable rules of the user plan decides", () => {
  const surplus = { found: present(["other"]) };
  const pairs: readonly (readonly [string, string, UserSnapshot])[] = [
    ["release-user", "await-cluster", look({ ...going, cluster: undefined, with: unasked })],
    ["renew-binding", "await-cluster", look({ cluster: PAUSED, pair: { notAfterMs: NOW + 20 * DAY_MS }, with: unasked })],
    ["await-cluster", "await-etcd", look({ cluster: PAUSED, with: silent })],
    ["await-etcd", "delete-user", look({ ...going, with: silent })],
    ["delete-user", "refuse-user", look({ ...going, ...byCertificate, cluster: PLAIN })],
    ["binding-taken", "request-certificate", look({ cluster: MANAGED, bound: { ownerUid: "other" }, with: { request: absent } })],
    ["grant-role", "await-binding", look({ with: { found: present([]), binding: unknown("away"), password: absent } })],
    ["delete-user", "revoke-role", look({ ...going, with: surplus })],
    ["delete-user", "publish-trust", look({ ...going, ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } })],
    ["publish-trust", "refuse-user", look({ ...byCertificate, cluster: etcdOf(BROUGHT), with: { trust: bundle(OWN, NEXT) } })],
    ["refuse-user", "name-taken", look({ spec: { userName: "etcd-cluster-operator" }, claimed: false })],
    ["name-taken", "hold-user", look({ claimed: false, held: false })],
    ["hold-user", "claim-user", look({ claimed: false, held: false, with: noUser })],
    ["claim-user", "revoke-role", look({ claimed: false, spec: { takeOver: true }, with: surplus })],
    ["revoke-role", "binding-taken", look({ bound: { ownerUid: "other" }, with: surplus })],
    ["binding-taken", "grant-role", look({ bound: { ownerUid: "other" }, with: { found: present([]) } })],
    ["request-certificate", "write-binding", look({ cluster: MANAGED, bound: { hasPassword: false }, with: { request: absent } })],
    ["write-binding", "recreate-user", look({ ...asks, with: { password: present("none") } })],
    ["write-binding", "set-password", look({ ...asks, with: { password: present("differs") } })],
    ["write-binding", "add-user", look({ ...asks, with: noUser })],
    ["set-password", "grant-role", look({ with: { password: present("differs"), found: present([]) } })],
    ["recreate-user", "grant-role", look({ with: { password: present("none"), found: present([]) } })],
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

import { expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, issuedFacts, NEXT, OWN, signerOf, userLook } from "#kit/snapshots/access.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { bundle } from "#kit/snapshots/cluster-tls.ts";
import { planText } from "#kit/tables/plan-text.ts";
import { bindingTexts, renewalWish } from "#user/desired/binding.ts";
import { USER_GUARDS } from "#user/guards.ts";
import { planUser } from "#user/plan.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import { userStatus } from "#user/status.ts";
import { targetTextOf, type UserStep } from "#user/step.ts";

// Certificates of bindings while the cluster is paused or sleeps.

const DAY_MS = 86_400_000;
const look = userLook;
const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ca" } } } };
const PAUSE = { spec: { paused: true } };
const PAUSED = etcdOf({}, PAUSE);
const ASLEEP = etcdOf({}, { spec: { replicas: 0 } });
const GOING = etcdOf({}, { ...PAUSE, metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } });
const MANAGED = etcdOf(CERT_MANAGER, PAUSE);
const byCertificate = { spec: { authentication: { type: "Certificate" } } };
/** The part of a snapshot that is absent while etcd is not asked. */
const unasked = { access: absent, found: absent, password: absent } as const;
const due = { pair: { notAfterMs: NOW + 30 * DAY_MS } };
const paused = (given: Parameters<typeof look>[0]) =>
  look({ cluster: PAUSED, ...given, with: { ...unasked, ...given?.with } });
const newer = (change: object = {}) => present(issuedFacts({ fingerprint: "newer", ...change }));

const byNext = { trust: bundle(NEXT), signerId: NEXT.id };
const doubters = ["my-etcd-0"];

const RENEW = "renew-binding: writeBinding app-binding";
const WAIT = "wait: await-cluster";

test.each<[string, UserSnapshot, string]>([
  ["is renewed while the cluster is paused", paused(due), `${RENEW} keep issue`],
  ["is renewed while the cluster sleeps", paused({ ...due, cluster: ASLEEP }), `${RENEW} keep issue`],
  ["is renewed for a user with authentication Certificate", paused({ ...due, ...byCertificate }), `${RENEW} none issue`],
  ["is renewed after it has expired", paused({ pair: { notAfterMs: NOW } }), `${RENEW} keep issue`],
  ["is not renewed before it is due", paused({ pair: { notAfterMs: NOW + 30 * DAY_MS + 1 } }), WAIT],
  ["is not replaced when the spec of its certificate has changed", paused({ pair: { madeFor: "other" } }), WAIT],
  ["is renewed when due, even if it was issued for another duration", paused({ pair: { ...due.pair, madeFor: "other" } }), `${RENEW} keep issue`],
  ["is not renewed when its common name is another user's", paused({ ...byCertificate, pair: { ...due.pair, commonName: "other" } }), WAIT],
  ["is renewed for a user with a password, whatever common name it has", paused({ pair: { ...due.pair, commonName: "binding:app" } }), `${RENEW} keep issue`],
  ["is not replaced before it is due because of its common name", paused({ pair: { commonName: "binding:app", madeFor: "earlier" } }), WAIT],
  ["is not replaced when it is unusable", paused({ pair: { ...due.pair, trouble: "t" } }), WAIT],
  ["is renewed by another CA that every member trusts", paused({ ...due, with: { signer: present(signerOf(NEXT)) } }), `${RENEW} keep issue`],
  ["is not renewed by another CA before it is due", paused({ with: { signer: present(signerOf(NEXT)) } }), WAIT],
  ["is not renewed by another CA that a member does not trust", paused({ ...due, with: { signer: present(signerOf(NEXT)), doubters } }), WAIT],
  ["is not renewed by another CA while the cluster sleeps", paused({ ...due, cluster: ASLEEP, with: { signer: present(signerOf(NEXT)) } }), WAIT],
  ["is renewed by the CA that signed it, whatever CA signed that CA", paused({ ...due, cluster: ASLEEP, with: { signer: present(signerOf(OWN, { signerId: undefined })) } }), `${RENEW} keep issue`],
  ["is not renewed by an unusable CA", paused({ ...due, with: { signer: present(signerOf(OWN, { trouble: "t" })) } }), WAIT],
  ["is not renewed by a CA that could not be read", paused({ ...due, with: { signer: unknown("away") } }), WAIT],
  ["is not renewed by a CA that expires at the same time", paused({ ...due, with: { signer: present(signerOf(OWN, { notAfterMs: NOW + 30 * DAY_MS })) } }), WAIT],
  ["is not issued without a binding", paused({ bound: null }), WAIT],
  ["is not issued when the binding has no certificate", paused({ pair: null }), WAIT],
  ["is not written into a Secret of another owner", paused({ ...due, bound: { ownerUid: "other" } }), WAIT],
  ["is not renewed for a user that is being deleted", paused({ ...due, deleting: true }), WAIT],
  ["is not renewed for the younger of two EtcdUsers with one name", paused({ ...due, with: { elder: "other" } }), WAIT],
  ["is not renewed for a user that is refused", paused({ ...due, spec: { userName: "etcd-cluster-operator" } }), WAIT],
  ["is not renewed in a cluster that has not formed", paused({ ...due, cluster: etcdOf({}, { ...PAUSE, status: { identity: undefined } }) }), WAIT],
  ["is not renewed in a cluster that is being deleted", paused({ ...due, cluster: GOING }), WAIT],
  ["is copied when cert-manager has renewed it", paused({ cluster: MANAGED, with: { signer: newer() } }), `${RENEW} keep copy`],
  ["is copied when cert-manager's is from another CA that every member trusts", paused({ cluster: MANAGED, with: { signer: newer(byNext) } }), `${RENEW} keep copy`],
  ["is not copied when cert-manager's is from a CA that a member does not trust", paused({ cluster: MANAGED, with: { signer: newer(byNext), doubters } }), WAIT],
  ["is not copied when the CA of cert-manager's is unknown", paused({ cluster: MANAGED, with: { signer: newer({ trust: bundle(NEXT), signerId: undefined }) } }), WAIT],
  ["is not copied when the binding has the same certificate", paused({ cluster: MANAGED, ...due }), WAIT],
  ["is renewed by rule write-binding while the cluster is not paused", look(due), "write-binding: writeBinding app-binding keep issue"],
])("binding of a paused cluster: a certificate %s", (_, given, expected) => {
  const stepText = (step: UserStep) => `${step.do} ${targetTextOf(step)}`.trim();
  expect(planText(planUser(given), stepText)).toBe(expected);
}); // biome-ignore format: a table

test("binding: a renewal has a reason and keeps the Secret's other keys", () => {
  const own = { type: "mysql", "ca.crt": "theirs" };
  const given = paused({ ...due, bound: { texts: { ...own, "tls.crt": "leaf" } } });
  expect(renewalWish(given)).toMatchObject({
    because: "its certificate expires at 2026-01-31T12:00:00Z",
    texts: { ...own, username: "app", port: "2379" },
    draft: { metadata: { annotations: { "etcd.improbable.io/rotated-at": "2025-12-31T12:00:00Z" } } },
  });
  expect(Object.keys(renewalWish(given)?.texts ?? {})).not.toContain("tls.crt");
  expect(renewalWish(paused({ cluster: MANAGED, with: { signer: newer() } }))?.because).toBe(
    "cert-manager has renewed its certificate",
  );
  expect(planUser(given)).toMatchObject({
    because: "Secret app-binding is written: its certificate expires at 2026-01-31T12:00:00Z",
  });
});

test("binding: a renewal adds missing host, endpoints, uri and username, and keeps ca.crt", () => {
  const given = paused({ ...due, bound: { texts: { "ca.crt": "theirs" } } });
  const all = bindingTexts(given.user, PAUSED, given.trust);
  expect(renewalWish(given)?.texts).toEqual({ ...all, "ca.crt": "theirs" });
});

const wish = renewalWish(paused(due))!;
const writing = (change: Partial<typeof wish>): UserStep => ({ do: "writeBinding", wish: { ...wish, ...change } });

test.each<[string, UserSnapshot, UserStep, boolean]>([
  ["allows a renewal", paused(due), writing({}), true],
  ["allows a renewal while the cluster sleeps", paused({ ...due, cluster: ASLEEP }), writing({}), true],
  ["allows a copy of cert-manager's certificate", paused({ cluster: MANAGED, with: { signer: newer() } }), writing({ pair: "copy" }), true],
  ["allows a renewal without a password", paused({ ...due, ...byCertificate }), writing({ password: "none" }), true],
  ["forbids a new password", paused(due), writing({ password: "new" }), false],
  ["forbids removing the password", paused(due), writing({ password: "none" }), false],
  ["forbids a write that changes only other keys", paused({ ...due, ...byCertificate }), writing({}), false],
  ["forbids removing the certificate", paused(due), writing({ pair: "none" }), false],
  ["forbids a write that changes only texts", paused(due), writing({ pair: "keep" }), false],
  ["allows a certificate from another CA that every member trusts", paused({ ...due, with: { signer: present(signerOf(NEXT)) } }), writing({}), true],
  ["forbids a certificate from a CA that a member does not trust", paused({ ...due, with: { signer: present(signerOf(NEXT)), doubters } }), writing({}), false],
  ["forbids a renewal for a cluster that is being deleted", paused({ ...due, cluster: GOING }), writing({}), false],
  ["forbids creating the Secret", paused({ bound: null }), writing({}), false],
  ["forbids a renewal without a cluster", look({ ...due, with: { ...unasked, cluster: undefined } }), writing({}), false],
  ["forbids a change in etcd", paused(due), { do: "deleteUser", name: "app" }, false],
])("binding: during a pause guard place-is-ready %s", (_, given, step, isAllowed) => {
  const why = USER_GUARDS.find(({ name }) => name === "place-is-ready")?.forbids(given, step);
  expect(why === undefined).toBe(isAllowed);
}); // biome-ignore format: a table

test("binding: during a pause the status shows the certificate's expiry and keeps the password's record", () => {
  const record = { lastRotationTime: "2025-01-01T00:00:00Z", passwordFrom: { uid: "u", resourceVersion: "1" } };
  const given = paused({ status: record });
  expect(userStatus(given, planUser(given))).toMatchObject({
    ...record,
    certificate: { notAfter: "2026-03-22T12:00:00Z" },
    conditions: [{ type: "Ready", status: "False", reason: "Paused" }],
  });
  const gone = paused({ bound: null, status: { ...record, binding: { name: "app-binding", trusts: [] } } });
  expect(userStatus(gone, planUser(gone))).toMatchObject(record);
  expect(userStatus(gone, planUser(gone)).binding).toBeUndefined();
});

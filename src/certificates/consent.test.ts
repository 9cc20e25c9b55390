import { expect, test } from "vitest";
import { TLS_LABEL } from "#api/names.ts";
import { consentText, isOwnSecret, mayConnectWith } from "#certificates/consent.ts";
import { mayBeShown } from "#certificates/facts.ts";
import { secretOf } from "#kit/certificates.ts";
import { overTls } from "#kit/etcd-backup.ts";

const LABELS = { [TLS_LABEL]: "true" };

test.each([
  ["with the label", "theirs", LABELS, true],
  ["without labels", "theirs", undefined, false],
  ["with other labels", "theirs", { a: "true" }, false],
  ["whose label says something else", "theirs", { [TLS_LABEL]: "false" }, false],
  ["of the authority of members", "other-peer-ca", LABELS, false],
  ["of the authority of clients", "other-client-ca", LABELS, false],
])("whether clusters may have a Secret %s", (_, name, labels, is) => {
  expect(mayBeShown(secretOf(name, {}, { labels }))).toBe(is);
});

const secret = { serverSecretName: "server", operatorClientSecretName: "mine" };
const brought = overTls({ client: { provider: "Secret", secret } });
const recorded = { name: "mine", notAfter: "2026-01-02T00:00:00Z", issuer: "CN=a" };

test("the operator connects with what is for it, with what it makes itself, and with what it had", () => {
  const given = { secretName: "mine", mayBeShown: false, ownerUid: undefined };
  expect(mayConnectWith(brought, given)).toBe(false);
  expect(mayConnectWith(brought, { ...given, mayBeShown: true })).toBe(true);
  expect(mayConnectWith(overTls(), given)).toBe(true);
  const { status: _, ...rest } = brought;
  expect(mayConnectWith({ ...rest, status: { certificates: [recorded] } }, given)).toBe(true);
  expect(mayConnectWith({ ...rest, status: { certificates: [{ ...recorded, name: "server" }] } }, given)).toBe(false);
  expect(mayConnectWith(rest, given)).toBe(false);
});

test("what it made itself it goes on to connect with while somebody else's comes to be shown, and no more than that", () => {
  const former = { secretName: "my-etcd-operator-tls", mayBeShown: false, ownerUid: undefined };
  const inUse = (provider: string) => ({ ...brought, status: { issuedBy: { client: { provider } } } });
  expect(mayConnectWith(inUse("Operator"), former)).toBe(true);
  expect(mayConnectWith(inUse("CertManager"), former)).toBe(true);
  expect(mayConnectWith(inUse("Secret"), former)).toBe(false);
  expect(mayConnectWith(inUse("Operator"), { ...former, secretName: "mine" })).toBe(false);
  expect(mayConnectWith(brought, former)).toBe(false);
});

test("what it has filled for this very cluster needs nobody's consent, whatever is on record; an authority is nobody's to show", () => {
  const { name, uid } = brought.metadata;
  const own = { secretName: `${name}-operator-tls`, mayBeShown: false, ownerUid: uid };
  const { status: _, ...unrecorded } = brought;
  expect(mayConnectWith(unrecorded, own)).toBe(true);
  expect(isOwnSecret(brought, own)).toBe(true);
  expect(isOwnSecret(brought, { ...own, ownerUid: "another" })).toBe(false);
  expect(isOwnSecret(brought, { ...own, secretName: "mine" })).toBe(false);
  expect(isOwnSecret(brought, { ...own, secretName: `${name}-client-ca` })).toBe(false);
});

test("what is to be typed is said, but for an authority", () => {
  expect(consentText("foo", "theirs")).toContain("kubectl -n foo label secret theirs etcd.improbable.io/tls=true");
  expect(consentText("foo", "my-etcd-client-ca")).not.toContain("kubectl");
});

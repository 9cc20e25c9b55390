import { expect, test } from "vitest";
import { TLS_LABEL } from "#api/names.ts";
import { consentText, isOwnSecret, mayConnectWith } from "#certificates/consent.ts";
import { mayBeShown } from "#certificates/facts.ts";
import { secretOf } from "#kit/snapshots/certificates.ts";
import { overTls } from "#kit/snapshots/etcd-backup.ts";

const LABELS = { [TLS_LABEL]: "true" };

test.each([
  ["with the label may be used by clusters", "theirs", LABELS, true],
  ["without labels may not be used by clusters", "theirs", undefined, false],
  ["with other labels may not be used by clusters", "theirs", { a: "true" }, false],
  ["with another value of the label may not be used by clusters", "theirs", { [TLS_LABEL]: "false" }, false],
  ["of a peer CA may not be used by clusters, even with the label", "other-peer-ca", LABELS, false],
  ["of a client CA may not be used by clusters, even with the label", "other-client-ca", LABELS, false],
])("a Secret %s", (_, name, labels, is) => {
  expect(mayBeShown(secretOf(name, {}, { labels }))).toBe(is);
});

const secret = { server: { name: "server" }, operator: { name: "mine" } };
const brought = overTls({ client: { provider: "Secret", secret } });
const recorded = { name: "mine", notAfter: "2026-01-02T00:00:00Z", issuer: "CN=a" };

test("the operator connects with a labelled Secret, its own Secret or a Secret that the status lists", () => {
  const given = { secretName: "mine", mayBeShown: false, ownerUid: undefined };
  expect(mayConnectWith(brought, given)).toBe(false);
  expect(mayConnectWith(brought, { ...given, mayBeShown: true })).toBe(true);
  expect(mayConnectWith(overTls(), given)).toBe(true);
  const { status: _, ...rest } = brought;
  expect(mayConnectWith({ ...rest, status: { tls: { certificates: [recorded] } } }, given)).toBe(true);
  expect(mayConnectWith({ ...rest, status: { tls: { certificates: [{ ...recorded, name: "server" }] } } }, given)).toBe(
    false,
  );
  expect(mayConnectWith(rest, given)).toBe(false);
});

test("only the operator's previous own certificate stays in use during a change to a user-provided Secret", () => {
  const former = { secretName: "my-etcd-operator-tls", mayBeShown: false, ownerUid: undefined };
  const inUse = (provider: string) => ({ ...brought, status: { tls: { client: { issuedBy: { provider } } } } });
  expect(mayConnectWith(inUse("Operator"), former)).toBe(true);
  expect(mayConnectWith(inUse("CertManager"), former)).toBe(true);
  expect(mayConnectWith(inUse("Secret"), former)).toBe(false);
  expect(mayConnectWith(inUse("Operator"), { ...former, secretName: "mine" })).toBe(false);
  expect(mayConnectWith(brought, former)).toBe(false);
});

test("a Secret that the operator filled for the cluster needs no label, except that of a CA", () => {
  const { name, uid } = brought.metadata;
  const own = { secretName: `${name}-operator-tls`, mayBeShown: false, ownerUid: uid };
  const { status: _, ...unrecorded } = brought;
  expect(mayConnectWith(unrecorded, own)).toBe(true);
  expect(isOwnSecret(brought, own)).toBe(true);
  expect(isOwnSecret(brought, { ...own, ownerUid: "another" })).toBe(false);
  expect(isOwnSecret(brought, { ...own, secretName: "mine" })).toBe(false);
  expect(isOwnSecret(brought, { ...own, secretName: `${name}-client-ca` })).toBe(false);
});

test("the message has the command that sets the label, except for a CA's Secret", () => {
  expect(consentText("foo", "theirs")).toContain("kubectl -n foo label secret theirs etcd.improbable.io/tls=true");
  expect(consentText("foo", "my-etcd-client-ca")).not.toContain("kubectl");
});

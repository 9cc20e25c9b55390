import { expect, test } from "vitest";
import { isInUse } from "#cluster-tls/check/trusted.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import { certified } from "#kit/snapshots/cluster-steps.ts";
import { made, secured } from "#kit/snapshots/cluster-tls.ts";
import { isInTime, isWithheld } from "./usable.ts";

test("a certificate is valid from notBefore until just before notAfter", () => {
  const facts = made(certified, "peer");
  const isGood = (notBeforeMs: number, notAfterMs: number) =>
    isInTime(certified, { ...facts, notBeforeMs, notAfterMs });
  expect([isGood(NOW, NOW + 1), isGood(NOW + 1, NOW + 2), isGood(NOW - 1, NOW)]).toEqual([true, false, false]);
});

test("isInUse is true for the Secrets of members, of the operator and of applications", () => {
  const purposes = ["peer", "server", "operator", "application"] as const;
  const inUse = (given = certified) => purposes.filter((purpose) => isInUse(given, purpose));
  expect(inUse()).toEqual(purposes);
  expect(inUse(cluster())).toEqual([]);
  expect(inUse({ ...certified, peers: [], pods: new Map() })).toEqual(["operator", "application"]);
  const side = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
  expect(inUse(secured({}, { client: side }))).toEqual(["peer", "server", "operator"]);
});

test("a Secret that the operator created for the cluster needs no consent, even as a user-provided one", () => {
  const secret = { server: { name: "my-etcd-server-tls" }, operator: { name: "my-etcd-operator-tls" } };
  const kept = { ...secured({}, { client: { provider: "Secret", secret } }), peers: [], pods: new Map() };
  expect(isWithheld(kept, "server", made(kept, "server", { isOurs: true, mayBeShown: false }))).toBe(false);
  expect(isWithheld(kept, "server", made(kept, "server", { isOurs: false, mayBeShown: false }))).toBe("refused");
});

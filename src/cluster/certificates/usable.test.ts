import { expect, test } from "vitest";
import { isInUse } from "#cluster/certificates/trusted.ts";
import { isInTime, isOfEarlier, isWithheld } from "#cluster/certificates/usable.ts";
import { cluster, NOW } from "#kit/cluster.ts";
import { certified } from "#kit/cluster-steps.ts";
import { made, secured } from "#kit/cluster-tls.ts";

test("a certificate is good from its first moment on, and in its last one no more", () => {
  const facts = made(certified, "peer");
  const isGood = (notBeforeMs: number, notAfterMs: number) =>
    isInTime(certified, { ...facts, notBeforeMs, notAfterMs });
  expect([isGood(NOW, NOW + 1), isGood(NOW + 1, NOW + 2), isGood(NOW - 1, NOW)]).toEqual([true, false, false]);
});

test("a Secret is in use when members show it, the operator does, or applications find it where they look", () => {
  const purposes = ["peer", "server", "operator", "application"] as const;
  const inUse = (given = certified) => purposes.filter((purpose) => isInUse(given, purpose));
  expect(inUse()).toEqual(purposes);
  expect(inUse(cluster())).toEqual([]);
  expect(inUse({ ...certified, peers: [], pods: new Map() })).toEqual(["operator", "application"]);
  const side = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
  expect(inUse(secured({}, { client: side }))).toEqual(["peer", "server", "operator"]);
});

test("what the operator has filled for the cluster is withheld from nobody, whatever is on record of who issues", () => {
  const secret = { serverSecretName: "my-etcd-server-tls", operatorClientSecretName: "my-etcd-operator-tls" };
  const kept = { ...secured({}, { client: { provider: "Secret", secret } }), peers: [], pods: new Map() };
  expect(isWithheld(kept, "server", made(kept, "server", { isOurs: true, mayBeShown: false }))).toBe(false);
  expect(isWithheld(kept, "server", made(kept, "server", { isOurs: false, mayBeShown: false }))).toBe("refused");
});

test("what cert-manager fills under a name of the operator's own an earlier operator has asked for; what is the cluster's is its own", () => {
  const filled = (given: object) =>
    isOfEarlier(
      certified,
      made(certified, "application", { isOurs: false, certificateName: "my-etcd-client", ...given }),
    );
  expect(filled({})).toBe(true);
  expect([filled({ isOurs: true }), filled({ certificateName: "other" })]).toEqual([false, false]);
});

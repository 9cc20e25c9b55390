import { expect, test } from "vitest";
import { absent } from "#base/observed.ts";
import { parsedIn } from "#certificates/pem.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { certified } from "#kit/snapshots/cluster-steps.ts";
import { goingTo, NEXT, secured, THEIRS, withMade, withSeen } from "#kit/snapshots/cluster-tls.ts";
import { certificateProblem } from "./certificate-problem.ts";

// All other messages: src/cluster-tls/check/tls-ready.test.ts.

test("a CA that members do not trust reissues only certificates that are not in use", () => {
  const remade = begin(certified)
    .apply(withMade, { peerCA: { by: NEXT } })
    .apply(withSeen, { peer: absent }).snapshot;
  expect(certificateProblem(remade, "peer")).toMatchObject({
    reason: "CertificateMissing",
    message: expect.stringContaining(
      "my-etcd-0, my-etcd-1, my-etcd-2 would not trust the CA in Secret my-etcd-peer-ca",
    ),
    needsUser: true,
  });
  const side = { provider: "Secret", secret: { name: "their-peer" } };
  const asks = goingTo(secured({}, { peer: side }, { by: THEIRS, isOurs: false }), {});
  expect(certificateProblem(withMade(asks, { peerCA: {} }), "peer")).toMatchObject({
    reason: "CertificatesPending",
    message: expect.stringContaining("is about to be created"),
    needsUser: false,
  });
});

test("the message about an expired certificate states whether its CA expired at the same time", () => {
  const endsMs = parsedIn(THEIRS.pem)[0]!.validToDate.getTime();
  const side = { provider: "Secret", secret: { name: "their-peer" } };
  const ended = (lastsMs: number) => {
    const given = secured({}, { peer: side }, { by: THEIRS, isOurs: false, lastsMs });
    return certificateProblem({ ...given, takenAtMs: endsMs }, "peer")?.message;
  };
  const what = "Secret foo/their-peer, the peer certificate of members, has expired at";
  expect(ended(endsMs - NOW)).toBe(`${what} 2035-09-23T12:00:00Z, together with its CA`);
  expect(ended(endsMs - NOW - 1_000)).toBe(`${what} 2035-09-23T11:59:59Z`);
  // A CA has no such hint.
  const own = { ...secured(), takenAtMs: endsMs };
  expect(certificateProblem(withMade(own, { peerCA: { lastsMs: endsMs - NOW } }), "peerCA")?.message).toMatch(
    /:00:00Z$/,
  );
});

test("a missing certificate is created once its CA can sign, and the problem of the CA is reported", () => {
  const trouble = "its tls.key is an RSA key of 2048 bits; it must be an ECDSA key on P-256, or an Ed25519 key";
  const given = begin(certified).apply(withMade, { peerCA: { trouble } }).apply(withSeen, { peer: absent }).snapshot;
  expect(certificateProblem(given, "peer")).toMatchObject({
    reason: "CertificatesPending",
    message:
      "Secret foo/my-etcd-peer-tls, the peer certificate of members, is created once the CA in Secret my-etcd-peer-ca can sign",
    needsUser: false,
  });
  expect(certificateProblem(given, "peerCA")).toMatchObject({
    reason: "CertificateInvalid",
    message: `Secret foo/my-etcd-peer-ca, the CA of peer certificates: ${trouble}`,
    needsUser: true,
  });
});

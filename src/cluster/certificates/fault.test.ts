import { expect, test } from "vitest";
import { absent } from "#base/observed.ts";
import { parsedIn } from "#certificates/pem.ts";
import { faultOf } from "#cluster/certificates/fault.ts";
import { NOW } from "#kit/cluster.ts";
import { certified } from "#kit/cluster-steps.ts";
import { goingTo, NEXT, secured, THEIRS, withMade, withSeen } from "#kit/cluster-tls.ts";

// All other words: src/cluster/conditions/tls-ready.test.ts.

test("what is shown, and would be signed by whom members do not trust, is not made; what nobody shows yet is about to be", () => {
  const remade = withSeen(withMade(certified, { peerCA: { by: NEXT } }), { peer: absent });
  expect(faultOf(remade, "peer")).toMatchObject({
    reason: "CertificateMissing",
    message: expect.stringContaining(
      "my-etcd-0, my-etcd-1, my-etcd-2 would not trust what Secret my-etcd-peer-ca signs",
    ),
    isForPeople: true,
  });
  const side = { provider: "Secret", secret: { secretName: "their-peer" } };
  const asks = goingTo(secured({}, { peer: side }, { by: THEIRS, isOurs: false }), {});
  expect(faultOf(withMade(asks, { peerCA: {} }), "peer")).toMatchObject({
    reason: "CertificatesPending",
    message: expect.stringContaining("is about to be made"),
    isForPeople: false,
  });
});

test("what has ended with the authority that has signed it says so: another one by the same would not help", () => {
  const endsMs = parsedIn(THEIRS.pem)[0]!.validToDate.getTime();
  const side = { provider: "Secret", secret: { secretName: "their-peer" } };
  const ended = (lastsMs: number) => {
    const given = secured({}, { peer: side }, { by: THEIRS, isOurs: false, lastsMs });
    return faultOf({ ...given, takenAtMs: endsMs }, "peer")?.message;
  };
  const what = "Secret foo/their-peer, what members show to each other, has ended at";
  expect(ended(endsMs - NOW)).toBe(`${what} 2035-09-23T12:00:00Z, with the authority that has signed it`);
  expect(ended(endsMs - NOW - 1_000)).toBe(`${what} 2035-09-23T11:59:59Z`);
  // Of an authority that is its own end.
  const own = { ...secured(), takenAtMs: endsMs };
  expect(faultOf(withMade(own, { peerCA: { lastsMs: endsMs - NOW } }), "peerCA")?.message).toMatch(/:00:00Z$/);
});

test("what waits for an authority that cannot sign is not about to be made, and people hear what that lacks", () => {
  const trouble = "its tls.key is an RSA key of 2048 bits; it must be an ECDSA key on P-256, or an Ed25519 key";
  const given = withSeen(withMade(certified, { peerCA: { trouble } }), { peer: absent });
  expect(faultOf(given, "peer")).toMatchObject({
    reason: "CertificatesPending",
    message:
      "Secret foo/my-etcd-peer-tls, what members show to each other, is made once Secret my-etcd-peer-ca can sign",
    isForPeople: false,
  });
  expect(faultOf(given, "peerCA")).toMatchObject({
    reason: "CertificateInvalid",
    message: `Secret foo/my-etcd-peer-ca, the authority by which members know each other: ${trouble}`,
    isForPeople: true,
  });
});

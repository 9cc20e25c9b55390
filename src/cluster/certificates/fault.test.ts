import { expect, test } from "vitest";
import { absent } from "#base/observed.ts";
import { faultOf } from "#cluster/certificates/fault.ts";
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

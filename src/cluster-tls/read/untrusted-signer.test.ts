import { expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { certificateProblem } from "#cluster-tls/check/certificate-problem.ts";
import { whyCannotJoin } from "#cluster-tls/effective/new-member.ts";
import { dueOf } from "#cluster-tls/issue/due.ts";
import { untrustedSigner } from "#cluster-tls/read/usable.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { certified, tlsOfAll } from "#kit/snapshots/cluster-steps.ts";
import {
  bundle,
  CORP,
  goingTo,
  made,
  NEXT,
  OWN,
  RENEWED,
  running,
  secured,
  THEIRS,
  withMade,
} from "#kit/snapshots/cluster-tls.ts";

// A user replaced the trusted CA.

/** All members, or these, trust this bundle on the peer side. */
function trusting(trust: string, names?: readonly string[], given: ClusterSnapshot = certified): ClusterSnapshot {
  return running(given, names, { ...tlsOfAll, peer: { ...tlsOfAll.peer!, trust } });
}

/** The certificate's own ca.crt lacks its signer. */
const unsigned = { trust: bundle(THEIRS) };
const unknown = withMade(certified, { peer: unsigned });
const both = bundle(OWN, NEXT);
const peer = { provider: "Secret", secret: { name: "their-peer" } };
/** Members use a user-provided Secret, provider Operator is requested, and its certificates are unused. */
const unshown = begin(secured({}, { peer }, { by: THEIRS, isOurs: false }))
  .apply(goingTo, {})
  .apply(withMade, { peer: unsigned }).snapshot;

const cases: { name: string; given: ClusterSnapshot; by?: object; isForgotten: boolean }[] = [
  {
    name: "when members trust the certificate in use and its bundle lacks its signer",
    given: certified,
    isForgotten: true,
  },
  { name: "unless its bundle has its signer", given: certified, by: { next: OWN }, isForgotten: false },
  {
    name: "unless the Secret belongs to another owner",
    given: withMade(certified, { peer: { isOurs: false } }),
    isForgotten: false,
  },
  { name: "unless the certificate is not in use", given: unshown, isForgotten: false },
  {
    name: "unless it is the old CA with a renewed certificate in its Secret",
    given: trusting(bundle(CORP), undefined, withMade(certified, { peer: { by: CORP } })),
    by: { by: RENEWED },
    isForgotten: false,
  },
  {
    name: "unless no member trusts the certificate in use",
    given: withMade(certified, { peer: { by: THEIRS } }),
    isForgotten: false,
  },
  { name: "when its bundle lacks any CA that may have signed the certificate", given: unknown, isForgotten: true },
  {
    name: "unless its bundle has all CAs that may have signed the certificate",
    given: unknown,
    by: { next: OWN },
    isForgotten: false,
  },
  {
    name: "unless it is the only CA that may have signed the certificate, with a renewed certificate",
    given: trusting(bundle(CORP), undefined, unknown),
    by: { by: RENEWED },
    isForgotten: false,
  },
  {
    name: "when its bundle lacks a possible signer and a single member does not trust the new CA yet",
    given: trusting(both, ["my-etcd-0", "my-etcd-1"], unknown),
    isForgotten: true,
  },
  {
    name: "unless all members trust the new CA, so that it issues a new certificate",
    given: trusting(both, undefined, unknown),
    isForgotten: false,
  },
];

test.each(cases)("a new CA counts as lacking the old CA $name", ({ given, by, isForgotten }) => {
  const shown = untrustedSigner(given, "peer", made(given, "peerCA", { by: NEXT, ...by }));
  expect(shown?.secretName).toBe(isForgotten ? "my-etcd-peer-tls" : undefined);
});

test("a CA without the old CA in its bundle is invalid, and the message names the missing CA", () => {
  expect(certificateProblem(withMade(certified, { peerCA: { by: NEXT } }), "peerCA")).toMatchObject({
    reason: "CertificateInvalid",
    message: expect.stringContaining("its ca.crt lacks the CA that signed Secret my-etcd-peer-tls"),
    needsUser: true,
  });
});

test("a CA that lacks the old CA in its bundle issues nothing and is not published", () => {
  const due = (given: object, by: object) => {
    const snapshot = withMade(certified, { peer: given });
    return dueOf(snapshot, "peer", made(snapshot, "peerCA", { by: NEXT, ...by }))?.what;
  };
  expect([due({}, {}), due({}, { next: OWN })]).toEqual([undefined, "trust"]);
  // A missing certificate gets no ca.crt.
  const empty = { ...unsigned, trouble: "it has no tls.crt" };
  expect([due(empty, { next: OWN }), due(unsigned, { next: OWN })]).toEqual([undefined, "trust"]);
});

test("no member is added while a single member would reject its certificate", () => {
  expect(whyCannotJoin(certified, "my-etcd-3")).toBe(undefined);
  expect(whyCannotJoin(trusting(bundle(NEXT), ["my-etcd-1"]), "my-etcd-3")).toBe(
    "my-etcd-1 would not trust the CA that signed the certificate in Secret foo/my-etcd-peer-tls",
  );
});

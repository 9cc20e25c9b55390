import { expect, test } from "vitest";
import { dueOf } from "#cluster/certificates/due.ts";
import { faultOf } from "#cluster/certificates/fault.ts";
import { whyNotFor } from "#cluster/certificates/newcomer.ts";
import { forgottenBy } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { certified, tlsOfAll } from "#kit/cluster-steps.ts";
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
} from "#kit/cluster-tls.ts";

// Somebody has put another authority in the place of the one that is trusted.

/** Members, or these, trust whom this bundle says about each other. */
function trusting(trust: string, names?: readonly string[], given: ClusterSnapshot = certified): ClusterSnapshot {
  return running(given, names, { ...tlsOfAll, peer: { ...tlsOfAll.peer!, trust } });
}

/** By whom the pair is signed its own ca.crt does not say. */
const unsigned = { trust: bundle(THEIRS) };
const unknown = withMade(certified, { peer: unsigned });
const both = bundle(OWN, NEXT);
const peer = { provider: "Secret", secret: { secretName: "their-peer" } };
/** Members show what people have brought; the operator is to issue again, and nobody shows yet what it has made. */
const unshown = withMade(goingTo(secured({}, { peer }, { by: THEIRS, isOurs: false }), {}), { peer: unsigned });

const cases: { name: string; given: ClusterSnapshot; by?: object; isForgotten: boolean }[] = [
  { name: "when members believe what they show, and it does not say by whom", given: certified, isForgotten: true },
  { name: "unless it says so beside itself", given: certified, by: { next: OWN }, isForgotten: false },
  {
    name: "unless what is there is not the cluster's, and would not be made by it anyhow",
    given: withMade(certified, { peer: { isOurs: false } }),
    isForgotten: false,
  },
  { name: "unless nobody shows what is there", given: unshown, isForgotten: false },
  {
    name: "unless it has the name and key of the one before, whose certificate was made anew",
    given: trusting(bundle(CORP), undefined, withMade(certified, { peer: { by: CORP } })),
    by: { by: RENEWED },
    isForgotten: false,
  },
  {
    name: "unless no member believes what is there",
    given: withMade(certified, { peer: { by: THEIRS } }),
    isForgotten: false,
  },
  { name: "when it lacks whoever may have signed what is there", given: unknown, isForgotten: true },
  { name: "unless it names all who may have", given: unknown, by: { next: OWN }, isForgotten: false },
  {
    name: "unless it is the one who may have, whose certificate was made anew",
    given: trusting(bundle(CORP), undefined, unknown),
    by: { by: RENEWED },
    isForgotten: false,
  },
  {
    name: "when it lacks one of those who may have, and a single member does not trust it yet",
    given: trusting(both, ["my-etcd-0", "my-etcd-1"], unknown),
    isForgotten: true,
  },
  {
    name: "unless all members trust it: by it another one is made",
    given: trusting(both, undefined, unknown),
    isForgotten: false,
  },
];

test.each(cases)("an authority forgets who is believed $name", ({ given, by, isForgotten }) => {
  const shown = forgottenBy(given, "peer", made(given, "peerCA", { by: NEXT, ...by }));
  expect(shown?.secretName).toBe(isForgotten ? "my-etcd-peer-tls" : undefined);
});

test("an authority that forgets who is believed is at fault, and what it lacks is named", () => {
  expect(faultOf(withMade(certified, { peerCA: { by: NEXT } }), "peerCA")).toMatchObject({
    reason: "CertificateInvalid",
    message: expect.stringContaining("its ca.crt lacks the authority by which Secret my-etcd-peer-tls is believed"),
    isForPeople: true,
  });
});

test("by an authority that neither may sign yet nor vouches for what is there nothing is made, nor told whom to trust", () => {
  const due = (given: object, by: object) => {
    const snapshot = withMade(certified, { peer: given });
    return dueOf(snapshot, "peer", made(snapshot, "peerCA", { by: NEXT, ...by }))?.what;
  };
  expect([due({}, {}), due({}, { next: OWN })]).toEqual([undefined, "trust"]);
  // Where there is no certificate, whom to trust beside it helps nobody.
  const empty = { ...unsigned, trouble: "it has no tls.crt" };
  expect([due(empty, { next: OWN }), due(unsigned, { next: OWN })]).toEqual([undefined, "trust"]);
});

test("nobody is added whom a single member would not believe", () => {
  expect(whyNotFor(certified, "my-etcd-3")).toBe(undefined);
  expect(whyNotFor(trusting(bundle(NEXT), ["my-etcd-1"]), "my-etcd-3")).toBe(
    "my-etcd-1 would not believe what Secret foo/my-etcd-peer-tls holds",
  );
});

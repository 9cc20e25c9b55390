import { describe, expect, test } from "vitest";
import { absent } from "#base/observed.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { LeafPurpose } from "#cluster/snapshot.ts";
import { DAY_MS } from "#kit/snapshots/certificates.ts";
import { certified, peerOf } from "#kit/snapshots/cluster-steps.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  running,
  secured,
  THEIRS,
  withMade,
  withSeen,
} from "#kit/snapshots/cluster-tls.ts";
import { dueOf, signerOf } from "./due.ts";

const PURPOSES: readonly LeafPurpose[] = ["operator", "application", "server"];

/** Members do not trust the CA of clients, and its certificates are missing. */
function lost(clientCertificates: string) {
  const other = withMade(secured({}, { client: { clientCertificates } }), {
    clientCA: { by: NEXT, trust: bundle(NEXT, OWN) },
  });
  return withSeen(other, { operator: absent, application: absent, server: absent });
}

test.each([
  { clientCertificates: "Required", due: [] },
  { clientCertificates: "NotRequired", due: ["operator", "application"] },
])(
  "a CA that members do not trust issues only certificates that members do not verify, with clientCertificates $clientCertificates",
  ({ clientCertificates, due }) => {
    const given = lost(clientCertificates);
    expect(PURPOSES.filter((purpose) => dueOf(given, purpose)?.what === "pair")).toEqual(due);
    const guard = CLUSTER_GUARDS.find(({ name }) => name === "trusted-first");
    const authority = made(given, "clientCA", { by: NEXT });
    const allowed = PURPOSES.filter(
      (purpose) => guard?.forbids(given, { do: "issueLeaf", purpose, authority, facts: undefined }) === undefined,
    );
    expect(allowed).toEqual(due);
  },
);

describe("labels and annotations of spec.clientSecret", () => {
  const given = secured({ spec: { clientSecret: { metadata: { labels: { team: "a" } } } } });
  const due = { what: "trust", because: "its labels or annotations differ from spec.clientSecret" };

  test.each([
    ["are written when the Secret lacks them", withMade(given, { application: { given: undefined } }), due],
    ["are not written when it has them", given, undefined],
    ["are removed when the spec has none", withMade(secured(), { application: { given: "earlier" } }), due],
    [
      "wait for the CAs that its ca.crt lacks",
      withMade(given, { application: { given: undefined }, clientCA: { trust: bundle(OWN, NEXT) } }),
      { what: "trust", because: "its ca.crt differs from that of the CA" },
    ],
  ])("%s", (_, snapshot, expected) => {
    expect(dueOf(snapshot, "application")).toEqual(expected);
  });

  test("are not in other Secrets", () => {
    const others = withMade(given, { server: { given: undefined }, operator: { given: undefined } });
    expect(PURPOSES.filter((purpose) => dueOf(others, purpose))).toEqual([]);
  });
});

describe("ca.crt in a Secret that the operator issues", () => {
  const trusted = (purpose: "peer" | "server" | "operator" | "application", additional: string | undefined) =>
    signerOf(certified, purpose, additional)?.trustIds;

  test("has the CA that signs, and additional CAs", () => {
    expect(trusted("operator", bundle(THEIRS))).toEqual([OWN.id, THEIRS.id]);
    expect(trusted("application", bundle(THEIRS))).toEqual([OWN.id, THEIRS.id]);
    expect(trusted("operator", undefined)).toEqual([OWN.id]);
  });

  test("has only the signing CA in the Secrets of members, because members trust all CAs in it", () => {
    expect([trusted("peer", bundle(THEIRS)), trusted("server", bundle(THEIRS))]).toEqual([[OWN.id], [OWN.id]]);
  });
});

test.each([
  { purpose: "operator", commonName: "my-etcd-client", wanted: "etcd-cluster-operator" },
  { purpose: "application", commonName: "etcd-cluster-operator", wanted: "my-etcd-client" },
] as const)("the $purpose certificate is reissued when its common name, the user of etcd, differs", (each) => {
  const given = withMade(certified, { [each.purpose]: { commonName: each.commonName } });
  const because = `its tls.crt does not have the common name ${each.wanted}`;
  expect(dueOf(given, each.purpose)).toEqual({ what: "pair", because });
});

describe("a certificate is issued", () => {
  const tls = peerOf(certified, "my-etcd-0").spec.tls!;
  const shows = (trust: string) => ({ ...tls, peer: { secretName: "my-etcd-peer-tls", trust } });

  test("again by the same CA although a member does not trust it", () => {
    const given = running(certified, ["my-etcd-2"], shows(bundle(NEXT)));
    const ending = withMade(given, { peer: { lastsMs: DAY_MS } });
    expect(dueOf(ending, "peer")?.what).toBe("pair");
  });

  test("by a CA that no member trusts when the certificate is not in use", () => {
    const side = { provider: "Secret", secret: { name: "their-peer" } };
    const asks = goingTo(secured({}, { peer: side }, { by: THEIRS, isOurs: false }), {});
    expect(dueOf(withMade(asks, { peerCA: {} }), "peer")?.what).toBe("pair");
    const trusts = running(asks, undefined, { ...tls, peer: { secretName: "their-peer", trust: bundle(THEIRS, OWN) } });
    const again = withMade(trusts, {
      peerCA: { by: NEXT, trust: bundle(NEXT, OWN) },
      peer: { by: OWN, trust: bundle(OWN, NEXT), knownForMs: 0 },
    });
    expect(dueOf(again, "peer")).toEqual({ what: "pair", because: "a new CA signs now" });
  });

  test("again although its bundle lacks the new CA, when it is not in use", () => {
    const withoutMembers = { ...certified, peers: [], pods: new Map() };
    const again = withMade(withoutMembers, {
      peerCA: { by: NEXT, trust: bundle(NEXT, OWN) },
      peer: { by: OWN, trust: bundle(OWN), knownForMs: 0 },
    });
    expect(dueOf(again, "peer")).toEqual({ what: "pair", because: "a new CA signs now" });
  });
});

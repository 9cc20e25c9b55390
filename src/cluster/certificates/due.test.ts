import { describe, expect, test } from "vitest";
import { absent } from "#base/observed.ts";
import { dueOf, signerOf } from "#cluster/certificates/due.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { LeafPurpose } from "#cluster/snapshot.ts";
import { DAY_MS } from "#kit/certificates.ts";
import { certified, peerOf } from "#kit/cluster-steps.ts";
import { bundle, goingTo, made, NEXT, OWN, running, secured, THEIRS, withMade, withSeen } from "#kit/cluster-tls.ts";

const PURPOSES: readonly LeafPurpose[] = ["operator", "application", "server"];

/** The authority of clients is another one than members trust, and nothing that it is to sign is there. */
function lost(verifyClients: boolean) {
  const other = withMade(secured({}, { client: { verifyClients } }), {
    clientCA: { by: NEXT, trust: bundle(NEXT, OWN) },
  });
  return withSeen(other, { operator: absent, application: absent, server: absent });
}

test.each([
  { verifyClients: true, due: [] },
  { verifyClients: false, due: ["operator", "application"] },
])(
  "by an authority that members do not trust only that is made for which they do not ask: verifyClients $verifyClients",
  ({ verifyClients, due }) => {
    const given = lost(verifyClients);
    expect(PURPOSES.filter((purpose) => dueOf(given, purpose)?.what === "pair")).toEqual(due);
    const guard = CLUSTER_GUARDS.find(({ name }) => name === "trusted-first");
    const authority = made(given, "clientCA", { by: NEXT });
    const allowed = PURPOSES.filter(
      (purpose) => guard?.forbids(given, { do: "issueLeaf", purpose, authority, facts: undefined }) === undefined,
    );
    expect(allowed).toEqual(due);
  },
);

describe("what a certificate of the operator's own says of whom to trust", () => {
  const trusted = (purpose: "peer" | "server" | "operator" | "application", besides: string | undefined) =>
    signerOf(certified, purpose, besides)?.trustIds;

  test("is the authority that signs, and whoever is to be trusted besides", () => {
    expect(trusted("operator", bundle(THEIRS))).toEqual([OWN.id, THEIRS.id]);
    expect(trusted("application", bundle(THEIRS))).toEqual([OWN.id, THEIRS.id]);
    expect(trusted("operator", undefined)).toEqual([OWN.id]);
  });

  test("is that authority alone in what members show: whom they are to trust is read off that", () => {
    expect([trusted("peer", bundle(THEIRS)), trusted("server", bundle(THEIRS))]).toEqual([[OWN.id], [OWN.id]]);
  });
});

test.each([
  { purpose: "operator", commonName: "my-etcd-client", wanted: "etcd-cluster-operator" },
  { purpose: "application", commonName: "etcd-cluster-operator", wanted: "my-etcd-client" },
] as const)(
  "what was made for somebody else is made anew, for etcd knows by the name who connects: $purpose",
  (each) => {
    const given = withMade(certified, { [each.purpose]: { commonName: each.commonName } });
    const because = `its tls.crt does not have the common name ${each.wanted}`;
    expect(dueOf(given, each.purpose)).toEqual({ what: "pair", because });
  },
);

describe("a certificate is made", () => {
  const tls = peerOf(certified, "my-etcd-0").spec.tls!;
  const shows = (trust: string) => ({ ...tls, peer: { secretName: "my-etcd-peer-tls", trust } });

  test("again by whom has signed it, although some member trusts somebody else", () => {
    const given = running(certified, ["my-etcd-2"], shows(bundle(NEXT)));
    const ending = withMade(given, { peer: { lastsMs: DAY_MS } });
    expect(dueOf(ending, "peer")?.what).toBe("pair");
  });

  test("by whom nobody trusts yet as long as nobody shows it", () => {
    const side = { provider: "Secret", secret: { secretName: "their-peer" } };
    const asks = goingTo(secured({}, { peer: side }, { by: THEIRS, isOurs: false }), {});
    expect(dueOf(withMade(asks, { peerCA: {} }), "peer")?.what).toBe("pair");
    const trusts = running(asks, undefined, { ...tls, peer: { secretName: "their-peer", trust: bundle(THEIRS, OWN) } });
    const again = withMade(trusts, {
      peerCA: { by: NEXT, trust: bundle(NEXT, OWN) },
      peer: { by: OWN, trust: bundle(OWN, NEXT), knownForMs: 0 },
    });
    expect(dueOf(again, "peer")).toEqual({ what: "pair", because: "its authority is followed by another one" });
  });

  test("anew although it says nothing of whom to trust by now, as long as nobody shows it", () => {
    const nobody = { ...certified, peers: [], pods: new Map() };
    const again = withMade(nobody, {
      peerCA: { by: NEXT, trust: bundle(NEXT, OWN) },
      peer: { by: OWN, trust: bundle(OWN), knownForMs: 0 },
    });
    expect(dueOf(again, "peer")).toEqual({ what: "pair", because: "its authority is followed by another one" });
  });
});

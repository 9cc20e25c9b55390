import { expect, test } from "vitest";
import { absent } from "#base/observed.ts";
import { dueOf } from "#cluster/certificates/due.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { LeafPurpose } from "#cluster/snapshot.ts";
import { bundle, made, NEXT, OWN, secured, withMade, withSeen } from "#kit/cluster-tls.ts";

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
